// The inventory: how many pets have each status, as a bar that moves and as buttons that filter the list.

import { $, clearFaults, dialog, h, page, refuse, show } from "./ui.js";
import { call } from "./api.js";
import { STATUSES } from "./store.js";

/** How often the counts are read again while the page is visible. */
const EVERY = 10_000;
const KEY = `api-key:${page.path}`;

const place = $("#inventory");
const bar = h("div", { class: "bar", role: "img" }, STATUSES.map((status) => h("span", { class: status })));
const numbers = new Map();
const buttons = new Map();

const key = () => sessionStorage.getItem(KEY) ?? place.dataset.key;

/** Shows the bar and the buttons. `choose` gets the status that the visitor chose; none for all. */
export function showInventory(choose) {
  const button = (status) => {
    const number = h("span", { class: "number" }, "–");
    numbers.set(status, number);
    const element = h("button", { type: "button", class: `tile ${status}`, onclick: () => choose(status) },
      h("span", { class: "label" }, status || "all"), number);
    buttons.set(status, element);
    return element;
  };
  place.append(bar, h("div", { class: "tiles", role: "group", "aria-label": "Filter by status" }, ["", ...STATUSES].map(button)));
  if (!key()) place.append(h("button", { type: "button", class: "plain small", id: "api-key", onclick: askForKey }, "Show the counts with an API key"));
  setInterval(() => document.visibilityState === "visible" && refresh(false), EVERY);
}

export function markStatus(chosen) {
  buttons.forEach((button, status) => button.setAttribute("aria-pressed", String(status === chosen)));
}

/** Reads the counts. Those of the interval are not on the wire, which would show nothing else soon. */
export async function refresh(recorded = true) {
  if (!key()) return;
  const answer = await call("GET", "/store/inventory", { auth: { api_key: key() }, recorded });
  if (answer.ok) return draw(answer.data);
  if (answer.status === 401) sessionStorage.removeItem(KEY);
  if (recorded) refuse(answer);
}

function draw(counts) {
  const total = STATUSES.reduce((sum, status) => sum + (counts[status] ?? 0), 0);
  bar.setAttribute("aria-label", STATUSES.map((status) => `${counts[status] ?? 0} ${status}`).join(", "));
  STATUSES.forEach((status, at) => {
    bar.children[at].style.setProperty("flex-grow", String(counts[status] ?? 0));
    set(numbers.get(status), counts[status] ?? 0);
  });
  set(numbers.get(""), total);
}

function set(element, count) {
  const text = count.toLocaleString();
  if (element.textContent === text) return;
  const isFirst = element.textContent === "–";
  show(element, text);
  if (isFirst || !matchMedia("(prefers-reduced-motion: no-preference)").matches) return;
  element.animate([{ transform: "translateY(-.35em)", opacity: 0.2 }, { transform: "none", opacity: 1 }], { duration: 260, easing: "ease-out" });
}

function askForKey() {
  const form = h("form", { class: "stack", novalidate: true },
    h("p", {}, "The inventory needs an API key, which the operator of the store makes."),
    h("div", { class: "field" }, h("label", { for: "key" }, "API key"), h("input", { id: "key", name: "key", autocomplete: "off" })),
    h("div", {}, h("button", { class: "primary" }, "Show the counts")));
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    clearFaults(form);
    sessionStorage.setItem(KEY, form.elements.key.value.trim());
    await refresh();
    if (!sessionStorage.getItem(KEY)) return;
    $("#api-key").remove();
    box.close();
  });
  const box = dialog("API key", form);
}
