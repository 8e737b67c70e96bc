// The dialog that creates or changes an event. The API checks the input; its errors are shown at the fields.

import { busy, dialog, h, refuse } from "./ui.js";
import { call } from "./api.js";

/** As many as the API takes. */
const MOST_DATES = 366;

/** Shows the dialog for a new event, or for this one, and calls `done` with the stored event. */
export function editEvent(event, today, done) {
  const dates = h("div", { class: "stack-sm" });
  const row = (value) => {
    const input = h("input", { type: "date", "aria-label": "Date", value });
    const remove = h("button", { type: "button", class: "small", "aria-label": "Remove this date", onclick: () => removeRow(line) }, "✕");
    const line = h("div", { class: "row joined" }, input, remove);
    return line;
  };
  const number = () => [...dates.querySelectorAll("input")].forEach((input, at) => { input.name = `dates/${at}`; });
  const removeRow = (line) => {
    const neighbour = line.nextElementSibling ?? line.previousElementSibling;
    line.remove();
    number();
    (neighbour?.querySelector("input") ?? add).focus();
  };
  const add = h("button", { type: "button", class: "small", onclick: () => {
    if (dates.children.length >= MOST_DATES) return;
    dates.append(row(""));
    number();
    dates.lastElementChild.querySelector("input").focus();
  } }, "Add a date");
  dates.append(...(event?.dates ?? [today]).map(row));
  number();
  const save = h("button", { class: "primary" }, event ? "Save" : "Create the event");
  const form = h("form", { class: "stack", novalidate: true },
    field("name", "Name", h("input", { value: event?.name, autocomplete: "off" })),
    field("location", "Place", h("input", { value: event?.location, autocomplete: "off" })),
    field("eventDescription", "Description", h("textarea", { rows: 4 }, event?.eventDescription)),
    h("fieldset", { class: "field", name: "dates" }, h("legend", {}, "Dates"), dates, h("p", { class: "above" }, add)),
    field("price", "Price of a ticket", h("input", { value: event?.price, inputmode: "decimal", autocomplete: "off" })),
    h("div", { class: "row" }, save));
  form.addEventListener("submit", (submitted) => {
    submitted.preventDefault();
    busy(save, async () => {
      const content = read(form);
      const answer = event
        ? await call("PATCH", `/special-events/${event.eventId}`, { json: changes(event, content) })
        : await call("POST", "/special-events", { json: content });
      if (!answer.ok) return refuse(answer, form);
      box.close();
      done(answer.data);
    });
  });
  const box = dialog(event ? "Change the event" : "New event", form);
  form.elements.name.focus();
}

function field(name, label, input) {
  const id = `event-${name}`;
  input.id = id;
  input.name = name;
  return h("div", { class: "field" }, h("label", { for: id }, label), input);
}

/** What was typed. A field that was left empty is left out, so that the API says that it is required. */
function read(form) {
  const typed = (name) => form.elements[name].value.trim() || undefined;
  const amount = typed("price")?.replace(",", ".");
  return {
    name: typed("name"),
    location: typed("location"),
    eventDescription: typed("eventDescription"),
    dates: [...form.querySelectorAll("input[type=date]")].map((input) => input.value),
    price: amount === undefined || Number.isNaN(Number(amount)) ? amount : Number(amount),
  };
}

/** Only what is different. A field that was emptied is sent as an empty text, which the API refuses. */
function changes(event, content) {
  const entries = Object.entries(content).map(([name, value]) => [name, value ?? ""]);
  return Object.fromEntries(entries.filter(([name, value]) => JSON.stringify(value) !== JSON.stringify(event[name])));
}
