// The calendar of events.

import { $, page, show } from "./ui.js";
import { asked, dayHere, eventsFrom, museumTime, remember, showRefusal } from "./museum.js";
import { firstOfMonth, isDay, monthAndYear } from "./days.js";
import { byDay, list, shownDays, table } from "./calendar.js";
import { editEvent } from "./editor.js";

const wide = matchMedia("(min-width: 48rem)");
const today = (await museumTime())?.date ?? dayHere();
let month = firstOfMonth(isDay(`${asked("month")}-01`) ? `${asked("month")}-01` : today);
let events = [];
let turns = 0;

async function load() {
  const turn = ++turns;
  show($("#month"), monthAndYear(month));
  $("#month-this").disabled = month === firstOfMonth(today);
  const shown = shownDays(month);
  const found = await eventsFrom(shown[0], shown.length);
  // A faster click asked for another month.
  if (turn !== turns) return;
  if (found.refused) return showRefusal($("#calendar"), found.refused);
  events = found.events;
  draw();
}

function draw() {
  show($("#calendar"), (wide.matches ? table : list)(month, today, byDay(events)));
}

function turnTo(next) {
  if (!isDay(next)) return;
  month = next;
  remember("month", month.slice(0, 7));
  load();
}

wide.addEventListener("change", draw);
$("#month-before").addEventListener("click", () => turnTo(firstOfMonth(month, -1)));
$("#month-after").addEventListener("click", () => turnTo(firstOfMonth(month, 1)));
$("#month-this").addEventListener("click", () => turnTo(firstOfMonth(today)));
$("#new-event").addEventListener("click", () => editEvent(null, today, (event) => {
  location.assign(`${page.path}/app/event?id=${event.eventId}`);
}));

await load();
