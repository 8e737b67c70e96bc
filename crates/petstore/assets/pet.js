// One pet: its images, what the store knows about it, and its orders.

import { $, busy, dialog, h, page, refuse, show, toast } from "./ui.js";
import { call } from "./api.js";
import { STATUSES, callPets, instead, pill, tagNames } from "./store.js";
import { editPet } from "./pet-form.js";
import { dropZone, gallery } from "./photos.js";
import { orderCard, orderForm, readOwnOrders } from "./order.js";

const place = $("#pet");
const id = new URLSearchParams(location.search).get("id") ?? "";

const back = () => h("p", {}, h("a", { class: "back", href: `${page.path}/` }, "← All pets"));

let pet;
const images = h("div", {});
const about = h("div", { class: "stack" });
const orders = h("div", { class: "stack" });

async function read() {
  const answer = await callPets("GET", `/pet/${encodeURIComponent(id || "0")}`);
  place.removeAttribute("aria-busy");
  if (!answer.ok) {
    show(place, back(), h("h1", {}, answer.status === 404 ? "There is no such pet" : "Pet"), instead(answer, `The store has no pet with the number ${id || "0"}.`));
    return false;
  }
  pet = answer.data;
  return true;
}

function draw() {
  document.title = document.title.replace(/^.*?(?= · )/, pet.name);
  show(images, gallery(pet, (url) => replace({ ...pet, photoUrls: pet.photoUrls.filter((other) => other !== url) }, "The photo is deleted.")));
  const tags = tagNames(pet);
  show(about,
    h("div", { class: "stack-sm" }, h("h1", { tabindex: -1 }, pet.name), h("p", { class: "row soft" }, pet.category?.name ?? "no category", pill(pet.status), h("span", { class: "mono small" }, `id ${pet.id}`))),
    tags.length ? h("div", { class: "pills" }, tags.map((tag) => h("a", { class: "tag", href: `${page.path}/?tags=${encodeURIComponent(tag)}` }, tag))) : null,
    h("div", { class: "row" },
      h("div", { class: "choice", role: "group", "aria-label": "Status" }, STATUSES.map((status) => h("button", { type: "button", "aria-pressed": String(status === pet.status), onclick: (event) => busy(event.currentTarget, () => change(status)) }, status)))),
    h("div", { class: "row" },
      h("button", { type: "button", id: "edit", onclick: () => editPet(pet, (changed) => { pet = changed; draw(); toast("Saved."); $("#edit").focus(); }) }, "Edit"),
      h("button", { type: "button", class: "danger", onclick: remove }, "Delete")));
}

async function change(status) {
  const answer = await callPets("POST", `/pet/${pet.id}`, { query: { status } });
  if (!answer.ok) return refuse(answer);
  pet = answer.data;
  draw();
  $(".choice [aria-pressed=true]", about)?.focus();
}

async function replace(changed, message) {
  const answer = await callPets("PUT", "/pet", { pet: changed });
  if (!answer.ok) return refuse(answer);
  pet = answer.data;
  draw();
  toast(message);
}

function remove() {
  const yes = h("button", { type: "button", class: "danger", onclick: () => busy(yes, async () => {
    const answer = await call("DELETE", `/pet/${pet.id}`);
    if (!answer.ok) {
      box.close();
      return refuse(answer);
    }
    location.assign(`${page.path}/`);
  }) }, `Delete ${pet.name}`);
  const box = dialog(`Delete ${pet.name}?`, h("p", {}, "Its photos are deleted too. There is no way back."),
    h("div", { class: "row" }, yes, h("button", { type: "button", onclick: () => box.close() }, "Keep it")));
}

function add(order) {
  $(".none", orders)?.remove();
  orders.prepend(orderCard(order));
}

if (await read()) {
  draw();
  show(place, back(), h("div", { class: "split pet-page" },
    h("div", { class: "stack" }, images, dropZone(pet, async () => { if (await read()) draw(); })),
    h("div", { class: "stack-lg" }, about,
      h("section", { class: "card stack", "aria-labelledby": "order-heading" }, h("h2", { id: "order-heading" }, "Order"), orderForm(pet, add)),
      h("section", { class: "stack", "aria-labelledby": "orders-heading" },
        h("div", { class: "row between" }, h("h2", { id: "orders-heading" }, "Your orders of it"), h("a", { class: "small", href: `${page.path}/app/orders` }, "All your orders")), orders))));
  const own = (await readOwnOrders()).filter((order) => order.petId === pet.id);
  show(orders, own.length ? own.map((order) => orderCard(order)) : h("p", { class: "soft none" }, "None in this window."));
}
