// A month of events: a table on a wide window, a list of days on a narrow one.

import { dialog, h } from "./ui.js";
import { days, firstOfMonth, longDay, monday, numberOf, plus, shortWeekday, weekday, weekdayName } from "./days.js";
import { eventPage, price } from "./museum.js";

/** How many events fit into a cell. */
const IN_A_CELL = 3;
/** The most events that are listed for a day. */
const MOST = 100;

/** The days that the calendar of a month shows: whole weeks. */
export function shownDays(month) {
  const first = monday(month);
  const last = plus(firstOfMonth(month, 1), -1);
  return days(first, weeks(first, last) * 7);
}

function weeks(first, last) {
  let count = 0;
  for (let day = first; day <= last; day = plus(day, 7)) count += 1;
  return count;
}

/** The events by day. */
export function byDay(events) {
  const found = new Map();
  for (const event of events) for (const date of event.dates) found.set(date, [...(found.get(date) ?? []), event]);
  return found;
}

export function table(month, today, found) {
  const shown = shownDays(month);
  const rows = days(shown[0], shown.length / 7).map((_, at) => shown.slice(at * 7, at * 7 + 7));
  return h("table", { class: "calendar", "aria-labelledby": "month" },
    h("thead", {}, h("tr", {}, rows[0].map((day) => h("th", { scope: "col", abbr: weekdayName(day) }, shortWeekday(day))))),
    h("tbody", {}, rows.map((row) => h("tr", {}, row.map((day) => cell(day, month, today, found.get(day) ?? []))))));
}

function cell(day, month, today, events) {
  const state = [day.slice(0, 7) === month.slice(0, 7) ? "" : "other", day === today ? "today" : "", day < today ? "past" : "", weekday(day) > 4 ? "weekend" : ""];
  const rest = events.length - IN_A_CELL;
  return h("td", { class: state.join(" "), "aria-current": day === today ? "date" : null },
    h("span", { class: "number" }, h("span", { "aria-hidden": "true" }, numberOf(day)), h("span", { class: "visually-hidden" }, longDay(day))),
    events.length ? h("ul", {}, events.slice(0, IN_A_CELL).map((event) => h("li", {}, h("a", { href: eventPage(event), title: event.name }, h("span", {}, event.name)))),
      rest > 0 ? h("li", {}, h("button", { type: "button", class: "more", "aria-label": `All events on ${longDay(day)}`, onclick: () => showDay(day, events) }, `${rest} more`)) : null) : null);
}

function showDay(day, events) {
  dialog(longDay(day), entries(events));
}

function entries(events) {
  return h("ul", { class: "list" }, events.slice(0, MOST).map((event) => h("li", { class: "entry" },
    h("a", { href: eventPage(event) }, event.name), h("span", { class: "soft" }, `${event.location} · ${price(event.price)}`))));
}

export function list(month, today, found) {
  const shown = shownDays(month).filter((day) => day.slice(0, 7) === month.slice(0, 7) && found.has(day));
  if (!shown.length) return h("p", { class: "empty" }, "No events in this month.");
  return h("div", { class: "agenda" }, shown.map((day) => h("section", { class: day === today ? "today" : day < today ? "past" : null },
    h("h3", {}, longDay(day), day === today ? [" ", h("span", { class: "pill accent" }, "Today")] : null), entries(found.get(day)))));
}
