// Small helpers for pages: elements, times, messages.

/** What the server says about this page: its paths, and how visitors sign in. */
export const page = document.documentElement.dataset;

let ahead = page.now ? Date.parse(page.now) - Date.now() : 0;

/** The time of the service, whose clock may have been moved. */
export const now = () => Date.now() + ahead;

/** Sets the time of the service by the Date of an answer. */
export function follow(answer) {
  const date = Date.parse(answer.headers.get("date") ?? "");
  // The header has whole seconds; a smaller difference says nothing.
  if (date && Math.abs(date - now()) > 1500) ahead = date - Date.now();
}

/** The first element of a selector. */
export const $ = (selector, root = document) => root.querySelector(selector);

/** An element with attributes and children. Texts are never read as markup. */
export function h(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/** The same in an SVG image. */
export function svg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** Replaces the children of an element. */
export function show(element, ...children) {
  element.replaceChildren(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
}

/** Says something at the bottom of the page for a few seconds. */
export function toast(text, kind = "") {
  let toasts = $(".toasts");
  if (!toasts) {
    toasts = h("div", { class: "toasts", role: "status" });
    document.body.append(toasts);
  }
  const element = h("div", { class: `toast ${kind}` }, text);
  toasts.append(element);
  setTimeout(() => element.remove(), 6000);
}

/** What a refused call says, in a sentence or two. */
export function explain(answer) {
  if (answer.status === 0) return "The service cannot be reached.";
  const problem = answer.problem;
  if (!problem) return `The service answered ${answer.status}.`;
  const errors = (problem.errors ?? []).map((error) => `${error.pointer ?? ""} ${error.detail}`.trim());
  const detail = problem.detail ?? problem.title;
  // The detail of a problem with one error repeats it.
  return [detail, ...errors.filter((error) => !detail.includes(error))].join(" ");
}

/** Shows a refused call: each error at its field, the rest as a message. */
export function refuse(answer, form) {
  let left = answer.problem?.errors ?? [];
  if (form) {
    clearFaults(form);
    left = left.filter((error) => !fault(form, error));
    form.querySelector("[aria-invalid]")?.focus();
  }
  if (left.length || !answer.problem?.errors?.length) toast(explain(answer), "bad");
}

/** Removes the errors at the fields of a form. */
export function clearFaults(form) {
  form.querySelectorAll(".fault").forEach((element) => element.remove());
  form.querySelectorAll("[aria-invalid]").forEach((element) => {
    element.removeAttribute("aria-invalid");
    element.removeAttribute("aria-describedby");
  });
}

function fault(form, error) {
  const name = (error.pointer ?? "").replace(/^#?\//, "");
  const fields = [...form.elements].filter((element) => element.name);
  const field = fields.find((element) => element.name === name) ?? fields.find((element) => name.startsWith(`${element.name}/`));
  if (!field) return false;
  const id = `fault-${field.name.replaceAll(/\W/g, "-")}`;
  field.setAttribute("aria-invalid", "true");
  field.setAttribute("aria-describedby", id);
  (field.closest(".field") ?? field.parentElement).append(h("p", { class: "fault", id }, error.detail));
  return true;
}

/** Runs an action of a button, which cannot be pressed again until it is done. */
export async function busy(button, action) {
  if (button.disabled) return;
  button.disabled = true;
  try {
    return await action();
  } finally {
    button.disabled = false;
  }
}

/** A dialog with a heading; it is removed when it is closed. */
export function dialog(heading, ...children) {
  const id = `dialog-${heading.replaceAll(/\W/g, "-").toLowerCase()}`;
  const close = h("button", { type: "button", class: "plain small", "aria-label": "Close", onclick: () => box.close() }, "✕");
  const box = h("dialog", { "aria-labelledby": id },
    h("div", { class: "stack" }, h("div", { class: "row between" }, h("h2", { id }, heading), close), children));
  box.addEventListener("close", () => box.remove());
  document.body.append(box);
  box.showModal();
  return box;
}

const language = navigator.language;
const formats = new Map();
function format(options) {
  const key = JSON.stringify(options);
  if (!formats.has(key)) formats.set(key, new Intl.DateTimeFormat(language, options));
  return formats.get(key);
}

/** A moment, such as 3 Nov 2026, 14:05. */
export const moment = (text) => format({ dateStyle: "medium", timeStyle: "short" }).format(new Date(text));

/** A day without a time, such as Tue, 3 Nov. */
export const day = (text) => format({ weekday: "short", day: "numeric", month: "short", timeZone: "UTC" }).format(new Date(`${text.slice(0, 10)}T00:00:00Z`));

/** An amount of money. */
export const money = (amount, currency) => new Intl.NumberFormat(language, { style: "currency", currency: currency.toUpperCase() }).format(amount);
