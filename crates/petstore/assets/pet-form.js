// The form of a pet, in a dialog.

import { busy, dialog, h, refuse } from "./ui.js";
import { STATUSES, callPets, tagNames } from "./store.js";

/** Asks for a new pet, or for changes of one. The store checks the input. `done` gets the pet as the store has it. */
export function editPet(pet, done) {
  const field = (name, label, input, hint) => {
    const id = `pet-${name}`;
    input.setAttribute("id", id);
    input.setAttribute("name", name);
    return h("div", { class: "field" }, h("label", { for: id }, label), input, hint ? h("p", { class: "hint" }, hint) : null);
  };
  const text = (value, list) => h("input", { value: value ?? "", autocomplete: "off", list });
  const save = h("button", { class: "primary" }, pet ? "Save" : "Add");
  const form = h("form", { class: "stack", novalidate: true },
    field("name", "Name", text(pet?.name)),
    field("category", "Category", text(pet?.category?.name, "categories"), "The store draws the picture by it."),
    h("datalist", { id: "categories" }, ["Dogs", "Cats", "Rabbits", "Lions", "Birds", "Dragons"].map((value) => h("option", { value }))),
    field("tags", "Tags", text(tagNames(pet ?? {}).join(", ")), "Separated by commas."),
    field("status", "Status", h("select", {}, STATUSES.map((status) => h("option", { value: status, selected: status === (pet?.status ?? "available") }, status)))),
    h("div", { class: "row" }, save, h("button", { type: "button", onclick: () => box.close() }, "Cancel")));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    busy(save, async () => {
      const answer = await callPets(pet ? "PUT" : "POST", "/pet", { pet: read(form.elements, pet) });
      if (!answer.ok) return refuse(answer, form);
      box.close();
      done(answer.data);
    });
  });
  const box = dialog(pet ? `Edit ${pet.name}` : "Add a pet", form);
  form.elements.name.focus();
}

/** The pet of the form. What the form does not show stays as it is. */
function read(fields, pet) {
  const category = fields.category.value.trim();
  const tags = fields.tags.value.split(",").map((tag) => tag.trim()).filter(Boolean);
  return {
    id: pet?.id,
    category: category === (pet?.category?.name ?? "") ? pet?.category : category ? { name: category } : undefined,
    name: fields.name.value.trim(),
    photoUrls: pet?.photoUrls ?? [],
    tags: tags.map((name) => pet?.tags?.find((tag) => tag.name === name) ?? { name }),
    status: fields.status.value,
  };
}
