// A field for a station: a combobox that finds stations by name while the visitor types.

import { h, show } from "./ui.js";
import { call } from "./api.js";

const PAUSE = 150;

/** Fills an element with the field; changed(station or null) is called for each choice. suggested() gives stations for an empty field. */
export function stationField(root, { id, label, changed, suggested = () => [] }) {
  const list = h("ul", { id: `${id}-list`, role: "listbox", "aria-label": `${label}: stations`, class: "options", hidden: true });
  const input = h("input", { id, name: id, type: "text", role: "combobox", autocomplete: "off", spellcheck: "false", placeholder: "Town or station",
    "aria-expanded": "false", "aria-controls": list.id, "aria-autocomplete": "list", required: true });
  show(root, h("label", { for: id }, label), h("div", { class: "combobox" }, input, list));
  let chosen = null;
  let options = [];
  let active = -1;
  let timer;
  let asked = 0;

  function open(found, none) {
    options = found;
    active = -1;
    input.removeAttribute("aria-activedescendant");
    show(list, found.map((station, at) => {
      const item = h("li", { id: `${id}-option-${at}`, role: "option", "aria-selected": "false" },
        h("span", {}, station.name), h("span", { class: "soft small" }, station.address.split(", ").slice(-2).join(", ")));
      item.addEventListener("pointerdown", (event) => event.preventDefault());
      item.addEventListener("click", () => choose(station));
      return item;
    }), found.length === 0 && none ? h("li", { role: "option", "aria-disabled": "true", "aria-selected": "false", class: "soft" }, none) : null);
    const shown = list.children.length > 0;
    list.hidden = !shown;
    input.setAttribute("aria-expanded", String(shown));
  }

  const close = () => {
    // An answer that is still on its way must not open the list again.
    asked += 1;
    clearTimeout(timer);
    open([]);
  };

  function move(to) {
    if (options.length === 0) return;
    active = (to + options.length) % options.length;
    [...list.children].forEach((item, at) => item.setAttribute("aria-selected", String(at === active)));
    input.setAttribute("aria-activedescendant", `${id}-option-${active}`);
    list.children[active].scrollIntoView({ block: "nearest" });
  }

  function choose(station) {
    set(station);
    close();
    changed(station);
  }

  function set(station) {
    chosen = station;
    input.value = station?.name ?? "";
    input.removeAttribute("aria-invalid");
  }

  async function search() {
    const text = input.value.trim();
    asked += 1;
    const mine = asked;
    if (!text) return open(suggested().slice(0, 8));
    const answer = await call("GET", "/stations", { query: { search: text, limit: 8 } });
    if (mine !== asked || document.activeElement !== input) return;
    if (answer.ok) open(answer.data.data, "No station has this name.");
  }

  input.addEventListener("input", () => {
    if (chosen) {
      chosen = null;
      changed(null);
    }
    clearTimeout(timer);
    timer = setTimeout(search, PAUSE);
  });
  input.addEventListener("focus", () => {
    input.select();
    if (!chosen && !input.value) open(suggested().slice(0, 8));
  });
  input.addEventListener("blur", () => {
    // Leaving the field takes the only station that fits, or the one that was there.
    if (!chosen && options.length === 1) choose(options[0]);
    else close();
  });
  input.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      if (list.hidden) search();
      else move(event.key === "ArrowDown" ? active + 1 : active < 0 ? -1 : active - 1);
    } else if (event.key === "Enter" && !list.hidden && options.length > 0) {
      event.preventDefault();
      choose(options[Math.max(active, 0)]);
    } else if (event.key === "Escape" && !list.hidden) {
      event.preventDefault();
      close();
    }
  });
  return { input, set, get station() { return chosen; } };
}
