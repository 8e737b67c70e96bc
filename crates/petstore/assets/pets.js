// The pets of the store as cards, by status and tag.

import { $, h, show, toast } from "./ui.js";
import { STATUSES, callPets, format, instead, petAddress, pill, portrait, setFormat, tagNames } from "./store.js";
import { editPet } from "./pet-form.js";
import { markStatus, refresh, showInventory } from "./inventory.js";

/** How many cards are shown at a time, and how many tags. */
const SOME = 60;
const MOST_TAGS = 12;

const list = $("#pets");
let pets = [];
let shown = SOME;
/** The tags of the pets that were seen, with their number; those of a filtered list would be too few. */
let known = new Map();

/** The filters are in the address, so that a link keeps them. */
function filters() {
  const query = new URLSearchParams(location.search);
  const status = query.get("status");
  return { status: STATUSES.includes(status) ? status : "", tags: [...new Set((query.get("tags") ?? "").split(",").filter(Boolean))] };
}

function filter({ status, tags }) {
  const query = new URLSearchParams();
  if (status) query.set("status", status);
  if (tags.length) query.set("tags", tags.join(","));
  const search = query.toString().replaceAll("%2C", ",");
  history.pushState(null, "", search ? `?${search}` : location.pathname);
  shown = SOME;
  load();
}

/** The store finds by status or by tags. With both, it finds by tags, and the page leaves out the other statuses. */
function find({ status, tags }) {
  if (tags.length) return callPets("GET", "/pet/findByTags", { query: { tags: tags.join(",") } });
  return callPets("GET", "/pet/findByStatus", { query: { status: status || STATUSES.join(",") } });
}

let latest = 0;
async function load() {
  const chosen = filters();
  markStatus(chosen.status);
  drawTags(chosen);
  list.setAttribute("aria-busy", "true");
  const turn = (latest += 1);
  const answer = await find(chosen);
  // Another choice was made meanwhile.
  if (turn !== latest) return;
  list.removeAttribute("aria-busy");
  if (!answer.ok) return show(list, h("li", { class: "whole" }, instead(answer)));
  pets = answer.data.filter((pet) => !chosen.tags.length || !chosen.status || pet.status === chosen.status);
  if (!chosen.tags.length) count(pets, !chosen.status);
  drawTags(chosen);
  draw(chosen);
}

function count(found, isWhole) {
  const counts = new Map();
  found.flatMap(tagNames).filter((tag) => !tag.includes(",")).forEach((tag) => counts.set(tag, (counts.get(tag) ?? 0) + 1));
  if (isWhole || !known.size) known = counts;
}

function draw(chosen) {
  show($("#found"), `${pets.length} ${pets.length === 1 ? "pet" : "pets"}`);
  show(list, pets.length ? pets.slice(0, shown).map((pet) => card(pet)) : h("li", { class: "whole" }, nothing(chosen)));
  const left = pets.length - shown;
  show($("#more"), left > 0 ? h("button", { type: "button", onclick: () => { shown += SOME; draw(chosen); } }, `Show ${Math.min(left, SOME)} more of ${left.toLocaleString()}`) : null);
}

function nothing({ status, tags }) {
  const isFiltered = status || tags.length;
  return h("div", { class: "empty stack" }, h("p", {}, isFiltered ? "No pet is like that." : "There are no pets yet."),
    h("div", {}, isFiltered
      ? h("button", { type: "button", onclick: () => filter({ status: "", tags: [] }) }, "Show all pets")
      : h("button", { type: "button", class: "primary", onclick: add }, "Add the first")));
}

function card(pet, isNew = false) {
  return h("li", { class: `pet${isNew ? " new" : ""}` },
    h("div", { class: "picture" }, portrait(pet)),
    h("div", { class: "words" },
      h("h3", {}, h("a", { href: petAddress(pet.id) }, pet.name)),
      h("p", { class: "soft small" }, pet.category?.name ?? "no category"),
      h("div", { class: "pills" }, pill(pet.status), tagNames(pet).slice(0, 4).map((tag) => h("span", { class: "tag" }, tag)))));
}

function drawTags(chosen) {
  const names = [...known].sort((a, b) => b[1] - a[1] || a[0].localeCompare(b[0])).slice(0, MOST_TAGS).map(([tag]) => tag);
  const all = [...new Set([...names, ...chosen.tags])];
  // The focus stays on the tag that was pressed.
  const focused = document.activeElement?.closest("#tags")?.contains(document.activeElement) ? document.activeElement.textContent : null;
  show($("#tags"), all.map((tag) => {
    const pressed = chosen.tags.includes(tag);
    const tags = pressed ? chosen.tags.filter((other) => other !== tag) : [...chosen.tags, tag];
    return h("button", { type: "button", class: "chip", "aria-pressed": String(pressed), onclick: () => filter({ ...filters(), tags }) }, tag);
  }));
  if (focused) [...$("#tags").children].find((button) => button.textContent === focused)?.focus();
}

function add() {
  editPet(null, (pet) => {
    refresh();
    const { status, tags } = filters();
    const fits = (!status || pet.status === status) && (!tags.length || tagNames(pet).some((tag) => tags.includes(tag)));
    toast(fits ? `${pet.name} is in the store.` : `${pet.name} is in the store, but the filters hide it.`);
    tagNames(pet).forEach((tag) => known.set(tag, (known.get(tag) ?? 0) + 1));
    drawTags(filters());
    if (!fits) return;
    if (!pets.length) show(list);
    pets.unshift(pet);
    const made = card(pet, true);
    list.prepend(made);
    show($("#found"), `${pets.length} pets`);
    $("a", made).focus();
  });
}

function drawFormats() {
  show($("#format"), ["json", "xml"].map((name) => h("button", {
    type: "button", "aria-pressed": String(format() === name),
    onclick: () => {
      setFormat(name);
      drawFormats();
      [...$("#format").children].find((button) => button.getAttribute("aria-pressed") === "true").focus();
      load();
    },
  }, name.toUpperCase())));
}

$("#add").addEventListener("click", add);
addEventListener("popstate", load);
drawFormats();
showInventory((status) => filter({ ...filters(), status }));
load();
refresh();
