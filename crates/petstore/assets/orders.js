// Orders: the visitor's own, and one by its number.

import { $, busy, clearFaults, h, page, refuse, show } from "./ui.js";
import { call } from "./api.js";
import { orderCard, readOwnOrders } from "./order.js";

const form = $("#find");
const found = $("#found");
const asked = new URLSearchParams(location.search).get("id");

async function find(id) {
  const answer = await call("GET", `/store/order/${encodeURIComponent(id)}`, { auth: false });
  clearFaults(form);
  found.hidden = !answer.ok;
  if (answer.ok) return show($("[aria-live]", found), orderCard(answer.data, () => { found.hidden = true; }));
  // The error is about the number, wherever the store says it is.
  const detail = answer.problem?.errors?.[0]?.detail ?? answer.problem?.detail;
  refuse(detail ? { ...answer, problem: { ...answer.problem, errors: [{ pointer: "#/id", detail }] } } : answer, form);
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  const id = form.elements.id.value.trim();
  history.replaceState(null, "", id ? `?id=${encodeURIComponent(id)}` : location.pathname);
  busy($("button", form), () => find(id || "0"));
});

if (asked) {
  form.elements.id.value = asked;
  find(asked);
}

const own = $("#own");
const none = () => h("div", { class: "empty stack" }, h("p", {}, "You have not ordered anything yet."), h("div", {}, h("a", { class: "button primary", href: `${page.path}/` }, "Choose a pet")));
const orders = await readOwnOrders();
if (orders.length) {
  const grid = h("div", { class: "grid wide" }, orders.map((order) => orderCard(order, () => queueMicrotask(() => grid.children.length || show(own, none())))));
  show(own, grid);
} else show(own, none());
