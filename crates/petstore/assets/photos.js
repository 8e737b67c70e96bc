// The images of a pet, and how to add one.

import { busy, explain, h, show, toast } from "./ui.js";
import { call } from "./api.js";
import { drawn, photos } from "./store.js";

const LARGEST = 10 * 1024 * 1024;
const TYPES = { "image/png": "PNG", "image/jpeg": "JPEG", "image/gif": "GIF", "image/webp": "WebP", "image/avif": "AVIF", "image/bmp": "BMP" };

/** The images as one large and small ones to choose from. `remove` gets the address of a photo. */
export function gallery(pet, remove) {
  const own = photos(pet);
  const all = [...own, { url: null, source: drawn(pet) }];
  const large = h("img", { class: "large", alt: "", width: 800, height: 800 });
  const tools = h("div", { class: "row tools" });
  const buttons = all.map((photo, at) => h("button", {
    type: "button", class: "thumb", "aria-label": photo.url ? `Photo ${at + 1}` : "Drawn picture", onclick: () => choose(at),
  }, h("img", { src: photo.source, alt: "", width: 96, height: 96, loading: "lazy" })));
  const choose = (at) => {
    const photo = all[at];
    large.src = photo.source;
    large.alt = photo.url ? `Photo ${at + 1} of ${pet.name}` : `A drawing of ${pet.name}`;
    buttons.forEach((button, index) => button.setAttribute("aria-pressed", String(index === at)));
    const button = photo.url && h("button", { type: "button", class: "small danger", onclick: () => busy(button, () => remove(photo.url)) }, "Remove this photo");
    show(tools, button);
  };
  large.addEventListener("error", () => { if (large.src !== new URL(drawn(pet), location.href).href) large.src = drawn(pet); });
  choose(0);
  const others = (pet.photoUrls ?? []).filter((url) => !own.some((photo) => photo.url === url));
  return h("div", { class: "gallery" }, h("div", { class: "frame-picture" }, large),
    all.length > 1 ? h("div", { class: "thumbs", role: "group", "aria-label": "Images" }, buttons) : null, tools,
    others.length ? h("p", { class: "small soft others" }, "Photos elsewhere: ", others.map((url) => h("code", {}, url))) : null);
}

const size = (bytes) => (bytes < 1024 * 1024 ? `${Math.max(1, Math.round(bytes / 1024))} KiB` : `${(bytes / 1024 / 1024).toFixed(1)} MiB`);

function wrongWith(file) {
  if (!(file.type in TYPES)) return `${file.name} is not an image that the store shows. Choose one of these: ${Object.values(TYPES).join(", ")}.`;
  if (file.size > LARGEST) return `${file.name} has ${size(file.size)}, and an image may have at most ${size(LARGEST)}.`;
  return file.size ? null : `${file.name} is empty.`;
}

/** Where a file is dropped or chosen. `done` is called when the store has it. */
export function dropZone(pet, done) {
  const input = h("input", { type: "file", id: "photo", class: "visually-hidden", accept: Object.keys(TYPES).join(",") });
  const message = h("div", { role: "alert" });
  const place = h("div", { class: "drop-content" });
  const zone = h("div", { class: "drop" }, input, place, message);
  const fail = (text) => show(message, h("p", { class: "fault" }, text));

  const waiting = () => show(place,
    h("p", {}, h("label", { for: "photo", class: "button" }, "Choose a photo"), h("span", { class: "soft" }, " or drop one here")),
    h("p", { class: "small soft" }, `${Object.values(TYPES).join(", ")}, at most ${size(LARGEST)}`));

  const preview = (file) => {
    show(message);
    const wrong = wrongWith(file);
    if (wrong) {
      waiting();
      return fail(wrong);
    }
    const source = URL.createObjectURL(file);
    const note = h("input", { id: "photo-note", autocomplete: "off" });
    const clear = () => {
      URL.revokeObjectURL(source);
      input.value = "";
      waiting();
    };
    const send = h("button", { type: "button", class: "primary", onclick: () => busy(send, async () => {
      const answer = await call("POST", `/pet/${pet.id}/uploadImage`, {
        query: { additionalMetadata: note.value.trim() }, body: file, headers: { "content-type": "application/octet-stream" },
      });
      if (!answer.ok) return fail(explain(answer));
      clear();
      toast("The photo is in the store.");
      done();
    }) }, "Upload");
    show(place, h("div", { class: "preview" },
      h("img", { src: source, alt: "The chosen photo", width: 120, height: 120 }),
      h("div", { class: "stack" }, h("p", { class: "file" }, h("b", {}, file.name), h("span", { class: "soft small" }, ` ${size(file.size)}`)),
        h("div", { class: "field" }, h("label", { for: "photo-note" }, "Note"), note),
        h("div", { class: "row" }, send, h("button", { type: "button", onclick: clear }, "Cancel")))));
    send.focus();
  };

  input.addEventListener("change", () => input.files[0] && preview(input.files[0]));
  const over = (shown) => (event) => {
    event.preventDefault();
    zone.classList.toggle("over", shown);
  };
  zone.addEventListener("dragover", over(true));
  zone.addEventListener("dragleave", over(false));
  zone.addEventListener("drop", (event) => {
    over(false)(event);
    const files = event.dataTransfer.files;
    if (files.length > 1) fail("Drop one file at a time.");
    else if (files.length) preview(files[0]);
  });
  waiting();
  return zone;
}
