const parts = (color) => color.match(/[\d.]+/g).map(Number);
const luminance = (color) => {
  const [r, g, b] = parts(color).slice(0, 3).map((part) => {
    const share = part / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const contrast = (one, other) => {
  const [dark, light] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (light + 0.05) / (dark + 0.05);
};
const paper = (element) => {
  const color = element ? getComputedStyle(element).backgroundColor : 'rgb(255, 255, 255)';
  return parts(color)[3] === 0 ? paper(element.parentElement) : color;
};
const faults = [];
const all = [...document.querySelectorAll('body *')].filter((element) => element.checkVisibility());
for (const element of all) {
  const name = `${element.tagName.toLowerCase()} ${(element.value || element.textContent).trim().slice(0, 30)}`;
  const style = getComputedStyle(element);
  const box = element.getBoundingClientRect();
  const hasText = [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
  if (hasText || element.matches('input')) {
    const ratio = contrast(style.color, paper(element));
    if (ratio < 4.5) faults.push(`${name}: contrast ${ratio.toFixed(2)}`);
  }
  if (element.matches('input:not([type=hidden])')) {
    const ratio = contrast(style.borderTopColor, paper(element.parentElement));
    if (ratio < 3) faults.push(`${name}: border contrast ${ratio.toFixed(2)}`);
  }
  if (element.matches('input:not([type=hidden]), button, a') && (box.height < 44 || box.width < 44)) {
    faults.push(`${name}: ${box.width} by ${box.height} pixels`);
  }
}
if (document.documentElement.scrollWidth > innerWidth) faults.push('wider than the screen');
return faults;
