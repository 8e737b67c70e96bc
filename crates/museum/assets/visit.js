// Plan a visit: the hours of a week, and the next events.

import { $, h, page, show } from "./ui.js";
import { asked, dayHere, eventPage, eventsFrom, hoursFrom, museumTime, price, remember, showRefusal } from "./museum.js";
import { dayAndMonth, days, isDay, mediumDay, minutes, monday, numberOf, plus, shortMonth, weekdayName } from "./days.js";

const SHOWN_EVENTS = 6;
const time = await museumTime();
const today = time?.date ?? dayHere();
let week = monday(isDay(asked("week")) ? asked("week") : today);
let turns = 0;

await Promise.all([drawNow(), drawWeek(), drawEvents()]);

/** Whether the museum is open, and until when, or when it opens. */
async function drawNow() {
  if (!time) return show($("#now"), "The museum cannot be reached.");
  const { open } = await hoursFrom(today, 14);
  show($("#now"), h("span", { class: time.open ? "dot good" : "dot" }), h("span", {}, h("b", {}, time.open ? "Open now" : "Closed now"), sentence(open)),
    h("span", { class: "soft clock" }, `${time.time} at the museum`));
}

function sentence(open) {
  const hours = open.get(today);
  if (time.open && hours) return `, until ${hours.timeClose}`;
  if (hours && time.time < hours.timeOpen) return `, opens at ${hours.timeOpen}`;
  const next = [...open.values()].find((one) => one.date > today);
  if (!next) return null;
  const when = next.date === plus(today, 1) ? "tomorrow" : weekdayName(next.date);
  return `, opens ${when} at ${next.timeOpen}`;
}

async function drawWeek() {
  const turn = ++turns;
  const { answer, open } = await hoursFrom(week, 7);
  // A faster click asked for another week.
  if (turn !== turns) return;
  $("#week-of").value = week;
  $("#week-this").disabled = week === monday(today);
  show($("#week-name"), `${mediumDay(week)} – ${mediumDay(plus(week, 6))}`);
  if (!answer.ok) return showRefusal($("#week"), answer);
  const all = [...open.values()];
  const scale = {
    from: Math.min(...all.map((one) => minutes(one.timeOpen)), 9 * 60) - 60,
    to: Math.max(...all.map((one) => minutes(one.timeClose)), 17 * 60) + 60,
  };
  show($("#week"), days(week, 7).map((date) => row(date, open.get(date), scale)));
}

function row(date, hours, scale) {
  const isToday = date === today;
  const at = (text) => `${Math.min(100, Math.max(0, ((minutes(text) - scale.from) / (scale.to - scale.from)) * 100))}%`;
  const track = h("span", { class: "track", "aria-hidden": "true" });
  if (hours) track.append(placed("bar", { "--from": at(hours.timeOpen), "--to": at(hours.timeClose) }));
  if (isToday && time) track.append(placed("mark", { "--from": at(time.time) }));
  return h("li", { class: isToday ? "today" : date < today ? "past" : null, "aria-current": isToday ? "date" : null },
    h("span", { class: "name" }, h("b", {}, weekdayName(date)), " ", h("span", { class: "soft" }, dayAndMonth(date)),
      isToday ? [" ", h("span", { class: "pill accent" }, "Today")] : null),
    track,
    h("span", { class: hours ? "hours" : "hours soft" }, hours ? `${hours.timeOpen} – ${hours.timeClose}` : "Closed"),
    hours && (date > today || (isToday && !(time?.time >= hours.timeClose)))
      ? h("a", { class: "go", href: `${page.path}/app/buy?date=${date}`, "aria-label": `Buy a ticket for ${weekdayName(date)}, ${dayAndMonth(date)}` }, "Ticket")
      : h("span", { class: "go" }));
}

function placed(name, properties) {
  const element = h("span", { class: name });
  for (const [property, value] of Object.entries(properties)) element.style.setProperty(property, value);
  return element;
}

async function drawEvents() {
  const { refused, events } = await eventsFrom(today, 14);
  const place = $("#next");
  if (refused) return showRefusal(place, refused);
  const next = events.slice(0, SHOWN_EVENTS);
  if (!next.length) return show(place, h("p", { class: "empty" }, "No events in the next two weeks."));
  show(place, next.map(poster));
}

function poster(event) {
  const date = event.dates.find((one) => one >= today) ?? event.dates[0];
  return h("article", { class: "card poster" },
    h("p", { class: "leaf" }, h("span", { class: "number" }, numberOf(date)), h("span", {}, shortMonth(date))),
    h("div", { class: "stack-sm" },
      h("h3", {}, h("a", { href: eventPage(event) }, event.name)),
      h("p", { class: "soft" }, event.location),
      h("p", { class: "row small" }, h("span", { class: "pill accent" }, price(event.price)), event.dates.length > 1 ? h("span", { class: "soft" }, `${event.dates.length} dates`) : null)));
}

function turnTo(day) {
  if (!isDay(day)) return;
  week = monday(day);
  remember("week", week);
  drawWeek();
}

$("#week-before").addEventListener("click", () => turnTo(plus(week, -7)));
$("#week-after").addEventListener("click", () => turnTo(plus(week, 7)));
$("#week-this").addEventListener("click", () => turnTo(today));
$("#week-of").addEventListener("change", (event) => turnTo(event.target.value));
