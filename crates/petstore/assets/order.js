// An order: its form, and how it is shown.

import { $, busy, dialog, h, moment, page, refuse, show, toast } from "./ui.js";
import { call } from "./api.js";
import { petAddress } from "./store.js";

const STORE = `orders:${page.path}`;
const KEPT = 50;
const STEPS = ["placed", "approved", "delivered"];

/** The numbers of the orders that were placed in this window, the newest first. */
export function ownOrders() {
  try {
    return JSON.parse(sessionStorage.getItem(STORE)) ?? [];
  } catch {
    return [];
  }
}

function remember(id) {
  sessionStorage.setItem(STORE, JSON.stringify([id, ...ownOrders().filter((other) => other !== id)].slice(0, KEPT)));
}

export function forget(id) {
  sessionStorage.setItem(STORE, JSON.stringify(ownOrders().filter((other) => other !== id)));
}

const inDays = (days) => new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10);

/** The form to order a pet. `done` gets the order. */
export function orderForm(pet, done) {
  const button = h("button", { class: "primary" }, `Order ${pet.name}`);
  const form = h("form", { class: "stack", novalidate: true },
    h("div", { class: "pair" },
      h("div", { class: "field" }, h("label", { for: "quantity" }, "Quantity"), h("input", { id: "quantity", name: "quantity", type: "number", value: 1, min: 1, inputmode: "numeric" })),
      h("div", { class: "field" }, h("label", { for: "ship-date" }, "Ship date"), h("input", { id: "ship-date", name: "shipDate", type: "date", value: inDays(3) }))),
    button);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    busy(button, async () => {
      const { quantity, shipDate } = form.elements;
      const json = {
        petId: pet.id,
        quantity: quantity.value === "" ? undefined : Number(quantity.value),
        shipDate: shipDate.value ? `${shipDate.value}T12:00:00Z` : undefined,
      };
      const answer = await call("POST", "/store/order", { json, auth: false });
      if (!answer.ok) return refuse(answer, form);
      form.querySelectorAll(".fault").forEach((fault) => fault.remove());
      form.querySelectorAll("[aria-invalid]").forEach((field) => field.removeAttribute("aria-invalid"));
      remember(answer.data.id);
      toast(`Order ${answer.data.id} is placed.`);
      done(answer.data);
    });
  });
  return form;
}

/** An order with its state, and what can be done with it. `gone` is called when it is cancelled. */
export function orderCard(order, gone) {
  const element = h("article", { class: "card order", id: `order-${order.id}` });
  const draw = (now) => {
    const at = STEPS.indexOf(now.status);
    const next = STEPS[at + 1];
    const verb = { approved: "Approve", delivered: "Deliver" }[next];
    const advance = next && h("button", { type: "button", class: "small", onclick: () => busy(advance, () => put({ ...now, status: next, complete: next === "delivered" })) }, verb);
    const cancel = h("button", { type: "button", class: "small danger", onclick: () => ask(now.id) }, "Cancel order");
    show(element,
      h("div", { class: "row between" }, h("h3", {}, `Order ${now.id}`), h("a", { class: "small", href: petAddress(now.petId) }, `pet ${now.petId}`)),
      h("ol", { class: "steps", "aria-label": "State of the order" }, STEPS.map((step, index) =>
        h("li", { class: index <= at ? "done" : "", "aria-current": index === at ? "step" : null }, step))),
      h("dl", { class: "facts small" },
        h("dt", {}, "Quantity"), h("dd", {}, String(now.quantity ?? 1)),
        now.shipDate ? [h("dt", {}, "Ships"), h("dd", {}, moment(now.shipDate))] : null),
      h("div", { class: "row" }, advance, cancel));
  };
  const put = async (changed) => {
    const answer = await call("POST", "/store/order", { json: changed, auth: false });
    if (!answer.ok) return refuse(answer);
    draw(answer.data);
    $("button", element)?.focus();
  };
  const ask = (id) => {
    const yes = h("button", { type: "button", class: "danger", onclick: () => busy(yes, async () => {
      const answer = await call("DELETE", `/store/order/${id}`, { auth: false });
      box.close();
      if (!answer.ok && answer.status !== 404) return refuse(answer);
      forget(id);
      toast(`Order ${id} is cancelled.`);
      gone?.(id);
      element.remove();
    }) }, "Cancel the order");
    const box = dialog(`Cancel order ${id}?`, h("p", {}, "The store deletes it."), h("div", { class: "row" }, yes, h("button", { type: "button", onclick: () => box.close() }, "Keep it")));
  };
  draw(order);
  return element;
}

/** Reads the visitor's own orders. */
export async function readOwnOrders() {
  const answers = await Promise.all(ownOrders().map((id) => call("GET", `/store/order/${id}`, { auth: false }).then((answer) => ({ id, answer }))));
  answers.filter(({ answer }) => answer.status === 404).forEach(({ id }) => forget(id));
  return answers.flatMap(({ answer }) => (answer.ok ? [answer.data] : []));
}
