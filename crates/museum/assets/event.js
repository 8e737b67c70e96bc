// One event: what it is, and tickets for it.

import { $, busy, dialog, h, page, refuse, show, toast } from "./ui.js";
import { call } from "./api.js";
import { longDay } from "./days.js";
import { askedId, dayHere, museumTime, price, showRefusal } from "./museum.js";
import { editEvent } from "./editor.js";
import { sellForm } from "./sell.js";

const id = await askedId("/app/events");
const place = $("#event");
const [time, answer] = await Promise.all([museumTime(), call("GET", `/special-events/${encodeURIComponent(id)}`)]);
const today = time?.date ?? dayHere();
if (answer.ok) draw(answer.data);
else showRefusal(place, answer, "There is no such event", "h1");

function draw(event) {
  document.title = `${event.name} · Museum`;
  const upcoming = event.dates.filter((date) => date >= today);
  show(place, h("div", { class: "split wide" },
    h("article", { class: "stack-lg" },
      h("div", { class: "stack" }, h("h1", {}, event.name), h("p", { class: "story" }, event.eventDescription)),
      h("dl", { class: "facts large" },
        h("dt", {}, "Place"), h("dd", {}, event.location),
        h("dt", {}, "Price"), h("dd", {}, price(event.price)),
        h("dt", {}, event.dates.length === 1 ? "Date" : "Dates"), h("dd", {}, h("ul", { class: "dates" }, event.dates.map((date) => h("li", { class: date < today ? "past" : null }, longDay(date), date < today ? h("span", { class: "visually-hidden" }, ", past") : null))))),
      h("div", { class: "row" },
        h("button", { type: "button", class: "small", onclick: () => editEvent(event, today, changed) }, "Change"),
        h("button", { type: "button", class: "small danger", onclick: () => askToDelete(event) }, "Delete"))),
    h("section", { class: "card roomy stack", "aria-labelledby": "buy-heading" }, h("h2", { id: "buy-heading" }, "Tickets"),
      upcoming.length ? sellForm({ today, event, dates: upcoming }) : h("p", { class: "soft" }, "All dates of this event have passed."))));
}

function changed(event) {
  draw(event);
  toast("The event was changed.");
}

function askToDelete(event) {
  const button = h("button", { type: "button", class: "danger", onclick: () => busy(button, async () => {
    const gone = await call("DELETE", `/special-events/${event.eventId}`);
    if (!gone.ok) return refuse(gone);
    location.assign(`${page.path}/app/events`);
  }) }, "Delete the event");
  const box = dialog("Delete this event?", h("p", {}, `“${event.name}” disappears from the calendar. Tickets that were sold for it stay valid.`),
    h("div", { class: "row" }, button, h("button", { type: "button", onclick: () => box.close() }, "Keep it")));
}
