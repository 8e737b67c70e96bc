// Trips as people read them: times where the stations are, and how long it takes.

import { day, h, money } from "./ui.js";

const formats = new Map();
function at(time, zone, options) {
  const key = zone + JSON.stringify(options);
  if (!formats.has(key)) formats.set(key, new Intl.DateTimeFormat(navigator.language, { ...options, timeZone: zone }));
  return formats.get(key).format(new Date(time));
}

/** The time of day at a station, such as 05:52. */
export const clock = (time, station) => at(time, station?.timezone ?? "UTC", { hour: "2-digit", minute: "2-digit" });

/** The day at a station as 2026-11-03. */
export const dateAt = (time, zone = "UTC") => new Intl.DateTimeFormat("en-CA", { timeZone: zone, year: "numeric", month: "2-digit", day: "2-digit" }).format(new Date(time));

/** The day at a station in words. */
export const dayAt = (time, station) => day(dateAt(time, station?.timezone));

/** The time between two moments, such as 8 h 25 min. */
export function duration(from, to) {
  const minutes = Math.round((Date.parse(to) - Date.parse(from)) / 60_000);
  const hours = Math.floor(minutes / 60);
  return hours ? `${hours} h ${minutes % 60} min` : `${minutes} min`;
}

/** How many days after the departure a train arrives, as the stations count days. */
function daysLater(trip, from, to) {
  const days = (time, station) => Date.parse(dateAt(time, station?.timezone)) / 86_400_000;
  const later = days(trip.arrival_time, to) - days(trip.departure_time, from);
  return later > 0 ? h("sup", { title: "The next day" }, `+${later}`) : null;
}

/** The two ends of a trip with a line between them. */
export function timeline(trip, from, to) {
  return h("div", { class: "timeline" },
    h("div", {}, h("b", {}, clock(trip.departure_time, from)), h("span", {}, from?.name ?? "")),
    h("div", { class: "span" }, h("span", { class: "small soft" }, duration(trip.departure_time, trip.arrival_time)), h("span", { class: "track", "aria-hidden": "true" })),
    h("div", {}, h("b", {}, clock(trip.arrival_time, to), daysLater(trip, from, to)), h("span", {}, to?.name ?? "")));
}

export const price = (trip) => money(trip.price, trip.currency);
