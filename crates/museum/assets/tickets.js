// The tickets that were bought in this tab.

import { $, h, page, show } from "./ui.js";
import { dayHere, museumTime, ticketPage } from "./museum.js";
import { mediumDay, numberOf, shortMonth, shortWeekday } from "./days.js";
import { tickets } from "./kept.js";

const found = tickets();
if (found.length) {
  const today = (await museumTime())?.date ?? dayHere();
  const upcoming = found.filter((ticket) => ticket.ticketDate >= today).sort((one, other) => one.ticketDate.localeCompare(other.ticketDate));
  const past = found.filter((ticket) => ticket.ticketDate < today);
  show($("#tickets"), h("div", { class: "stack-lg" }, group("Upcoming", upcoming, today), group("Past", past, today)));
} else {
  show($("#tickets"), h("div", { class: "empty stack" }, h("h2", {}, "No tickets yet"),
    h("p", {}, "Buy one for general admission, or choose an event."),
    h("p", {}, h("a", { class: "button", href: `${page.path}/app/events` }, "See the events"))));
}

function group(heading, list, today) {
  if (!list.length) return null;
  return h("section", { class: "stack" }, h("h2", {}, heading), h("div", { class: "posters" }, list.map((ticket) => stub(ticket, today))));
}

function stub(ticket, today) {
  const date = ticket.ticketDate;
  return h("article", { class: "card poster stub" },
    h("p", { class: "leaf" }, h("span", { class: "number" }, numberOf(date)), h("span", {}, shortMonth(date))),
    h("div", { class: "stack-sm" },
      h("h3", {}, h("a", { href: ticketPage(ticket.ticketId) }, ticket.eventName ?? "General admission")),
      h("p", { class: "soft" }, date === today ? h("span", { class: "pill good" }, "Today") : `${shortWeekday(date)}, ${mediumDay(date).replace(/^[^,]*,\s*/, "")}`),
      h("p", { class: "mono small soft" }, ticket.confirmationCode)));
}
