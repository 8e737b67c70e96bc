// What the pages of the store share: pets and their pictures, the format of calls, what to show instead of data.

import { explain, h, page } from "./ui.js";
import { call } from "./api.js";
import { known, signIn } from "./visitor.js";
import { fromXml, toXml } from "./xml.js";

export const STATUSES = ["available", "pending", "sold"];

const FORMAT = `format:${page.path}`;

/** The format of calls about pets: json or xml. */
export const format = () => sessionStorage.getItem(FORMAT) ?? "json";
export const setFormat = (name) => sessionStorage.setItem(FORMAT, name);

/** Calls an operation that answers with pets, in the format that the visitor chose. `options.pet` is the body. */
export async function callPets(method, path, { pet, ...options } = {}) {
  if (format() === "json") return call(method, path, { ...options, json: pet });
  const answer = await call(method, path, {
    ...options,
    accept: "application/xml",
    body: pet && toXml("pet", pet),
    headers: pet && { "content-type": "application/xml" },
  });
  if (answer.ok && /xml/.test(answer.type)) answer.data = fromXml(answer.text);
  return answer;
}

export const petAddress = (id) => `${page.path}/app/pet?id=${id}`;

/** The picture that the store draws of a pet. */
export function drawn(pet) {
  const query = new URLSearchParams({ id: pet.id, name: pet.name ?? "", category: pet.category?.name ?? "" });
  return `${page.path}/app/picture.svg?${query}`;
}

/** The addresses of a pet's photos that this store serves, which need no credentials, by where this page reaches the store. */
export function photos(pet) {
  return (pet.photoUrls ?? []).flatMap((url) => {
    const found = /\/v3\/images\/([0-9a-f-]{36})$/.exec(url);
    return found ? [{ url, source: `${page.api}/images/${found[1]}` }] : [];
  });
}

/** The image of a pet: a photo if there is one, or else the drawn picture. */
export function portrait(pet, attributes = {}) {
  const picture = drawn(pet);
  const image = h("img", { src: photos(pet)[0]?.source ?? picture, alt: "", width: 400, height: 400, loading: "lazy", decoding: "async", ...attributes });
  // A file that is no image after all.
  image.addEventListener("error", () => { if (image.getAttribute("src") !== picture) image.src = picture; }, { once: true });
  return image;
}

const KINDS = { available: "good", pending: "warn", sold: "", placed: "warn", approved: "accent", delivered: "good" };

export const pill = (status) => (status ? h("span", { class: `pill ${KINDS[status] ?? ""}` }, status) : null);

export const tagNames = (pet) => (pet.tags ?? []).map((tag) => tag.name).filter(Boolean);

/** What a page shows instead of data that it did not get. */
export function instead(answer, nothing) {
  if (answer.status === 401 && !known()) {
    return h("div", { class: "empty stack" }, h("p", {}, "Sign in to see the pets of this store."),
      h("div", {}, h("button", { type: "button", class: "primary", onclick: () => signIn() }, "Sign in")));
  }
  return h("div", { class: "empty stack", role: "alert" }, h("p", {}, answer.status === 404 ? nothing : explain(answer)),
    h("div", {}, h("button", { type: "button", onclick: () => location.reload() }, "Try again")));
}
