// Pets as XML.

/** The names of the elements of lists. */
const ITEMS = { photoUrls: "photoUrl", tags: "tag" };
const NUMBERS = new Set(["id"]);

/** An object as an element. */
export function toXml(root, value) {
  const file = document.implementation.createDocument(null, root);
  append(file.documentElement, value);
  return `<?xml version="1.0" encoding="UTF-8"?>${new XMLSerializer().serializeToString(file)}`;
}

function append(element, value) {
  const child = (name, content) => {
    const made = element.appendChild(element.ownerDocument.createElement(name));
    append(made, content);
  };
  if (Array.isArray(value)) value.forEach((item) => child(ITEMS[element.localName], item));
  else if (typeof value === "object") Object.entries(value).filter(([, content]) => content !== undefined).forEach(([name, content]) => child(name, content));
  else element.textContent = String(value);
}

/** The pet, or the pets, of an answer. */
export function fromXml(text) {
  const root = new DOMParser().parseFromString(text, "application/xml").documentElement;
  return root.localName === "pets" ? [...root.children].map(read) : read(root);
}

function read(element) {
  if (element.localName in ITEMS) return [...element.children].map(read);
  if (NUMBERS.has(element.localName)) return Number(element.textContent);
  const isObject = element.children.length > 0 || ["pet", "tag", "category"].includes(element.localName);
  return isObject ? Object.fromEntries([...element.children].map((child) => [child.localName, read(child)])) : element.textContent;
}
