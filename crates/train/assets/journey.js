// The start page: two stations and a day, a map, and the trains between them.

import { $, busy, day, dialog, explain, h, now, page, refuse, show, toast } from "./ui.js";
import { call } from "./api.js";
import * as visitor from "./visitor.js";
import { directFrom, stations } from "./stations.js";
import { stationField } from "./station-field.js";
import { drawMap } from "./map.js";
import { dateAt, price, timeline } from "./trip.js";

/** How many days ahead trains can be booked. */
const DAYS_AHEAD = 90;
const FEW_SEATS = 10;
const NAME = "passenger";

const form = $("#search");
const date = $("#date");
const heading = $("#found-heading");
const trips = $("#trips");
const { all, failed } = await stations();
let direct = null;
let searched = 0;

const from = stationField($("#from-field"), { id: "from", label: "From", changed: chosen });
const to = stationField($("#to-field"), { id: "to", label: "To", changed: chosen, suggested: () => direct ?? [] });
const map = drawMap($("#map"), all, pick);

if (failed) unavailable(failed);
else begin();

function unavailable(answer) {
  form.querySelectorAll("input, button").forEach((field) => { field.disabled = true; });
  show($("#ideas"), answer.status === 401
    ? [h("p", { class: "note" }, "Sign in to find trains."), h("button", { type: "button", class: "primary", onclick: () => visitor.signIn() }, "Sign in")]
    : h("p", { class: "note bad" }, explain(answer)));
}

/** Takes the journey from the address of the page, so that it can be shared. */
function begin() {
  const query = new URLSearchParams(location.search);
  from.set(all.get(query.get("from")) ?? null);
  to.set(all.get(query.get("to")) ?? null);
  limitDays();
  if (/^\d{4}-\d\d-\d\d$/.test(query.get("date") ?? "")) date.value = query.get("date");
  $("#bicycles").checked = query.get("bicycles") === "true";
  $("#dogs").checked = query.get("dogs") === "true";
  ideas();
  chosen();
  if (from.station && to.station) find(false);
}

/** The days on which trains can be booked, as the origin counts them. */
function limitDays() {
  const zone = from.station?.timezone ?? "Europe/Berlin";
  date.min = dateAt(now(), zone);
  date.max = dateAt(now() + DAYS_AHEAD * 86_400_000, zone);
  if (!date.value || date.value < date.min) date.value = dateAt(now() + 86_400_000, zone);
}

function ideas() {
  const named = (name) => [...all.values()].find((station) => station.name.startsWith(name));
  const pairs = [["Berlin Hauptbahnhof", "Paris Gare du Nord"], ["London St Pancras", "Amsterdam Centraal"], ["Zürich", "Milano Centrale"]]
    .map((pair) => pair.map(named)).filter(([one, other]) => one && other);
  show($("#ideas"), pairs.length ? [h("p", { class: "small soft" }, "Or begin with one of these"), h("div", { class: "chips" }, pairs.map(([one, other]) =>
    h("button", { type: "button", class: "small", onclick: () => travel(one, other) }, `${one.name.split(" ")[0]} → ${other.name.split(" ")[0]}`)))] : null);
}

function travel(origin, destination) {
  from.set(origin);
  to.set(destination);
  chosen();
  find();
}

/** A click on the map: first the start, then the end, then a new start. */
function pick(station) {
  if (!from.station || (from.station && to.station)) {
    from.set(station);
    to.set(null);
    chosen();
  } else if (station.id !== from.station.id) {
    to.set(station);
    chosen();
    find();
  }
}

/** Shows the chosen stations on the map. */
async function chosen() {
  limitDays();
  const origin = from.station;
  direct = null;
  map.mark(origin, to.station, null);
  if (!origin) return;
  const found = await directFrom(origin.id);
  if (from.station !== origin) return;
  direct = found;
  map.mark(origin, to.station, found);
}

$("#swap").addEventListener("click", () => {
  const [one, other] = [from.station, to.station];
  from.set(other);
  to.set(one);
  chosen();
  if (one && other) find(false);
});
form.addEventListener("submit", (event) => {
  event.preventDefault();
  find();
});
for (const box of ["#bicycles", "#dogs", "#date"]) $(box).addEventListener("change", () => from.station && to.station && date.value && find(false));

/** Checks the fields, and lists the trains. Moves the focus to them if the visitor asked for them. */
async function find(focus = true) {
  for (const [field, said] of [[from, "Choose a station to start from."], [to, "Choose a station to go to."]]) {
    if (field.station) continue;
    toast(said, "bad");
    field.input.setAttribute("aria-invalid", "true");
    field.input.focus();
    return;
  }
  const [origin, destination] = [from.station, to.station];
  const query = { origin: origin.id, destination: destination.id, date: date.value, bicycles: $("#bicycles").checked || undefined, dogs: $("#dogs").checked || undefined };
  const shared = { from: query.origin, to: query.destination, date: query.date, ...(query.bicycles && { bicycles: true }), ...(query.dogs && { dogs: true }) };
  history.replaceState(null, "", `?${new URLSearchParams(shared)}`);
  searched += 1;
  const mine = searched;
  heading.hidden = false;
  heading.textContent = `${origin.name} → ${destination.name}, ${day(query.date)}`;
  show(trips, h("div", { class: "skeleton" }), h("div", { class: "skeleton" }));
  const answer = await call("GET", "/trips", { query: { ...query, limit: 100 } });
  if (mine !== searched) return;
  if (answer.ok) list(answer.data.data, origin, destination);
  else show(trips, h("p", { class: "note bad" }, explain(answer)));
  if (focus) {
    heading.focus({ preventScroll: true });
    heading.scrollIntoView({ block: "nearest" });
    if (heading.getBoundingClientRect().bottom > innerHeight * 0.8) heading.scrollIntoView({ block: "start" });
  }
}

function list(found, origin, destination) {
  if (found.length) return show(trips, h("ol", { class: "list trips" }, found.map((trip) => card(trip, origin, destination))));
  const filtered = $("#bicycles").checked || $("#dogs").checked;
  const others = (direct ?? []).filter((station) => station.id !== destination.id);
  const reached = direct?.some((station) => station.id === destination.id);
  show(trips, h("div", { class: "empty stack" },
    h("p", {}, h("b", {}, "No train can be booked on this day.")),
    filtered ? h("p", {}, "Trains that take no bicycles or no dogs are not shown.") : null,
    reached ? h("p", {}, "All may be sold out or have left. Try another day.") : others.length
      ? [h("p", {}, `No direct train goes from ${origin.name} to ${destination.name}. These stations have one:`),
        h("div", { class: "chips" }, others.slice(0, 8).map((station) => h("button", { type: "button", class: "small", onclick: () => travel(origin, station) }, station.name)))]
      : h("p", {}, "Try another station.")));
}

function card(trip, origin, destination) {
  const few = trip.seats_available <= FEW_SEATS;
  const item = h("li", { class: "card trip" },
    timeline(trip, origin, destination),
    h("div", { class: "offer" },
      h("b", { class: "price" }, price(trip)),
      h("button", { type: "button", class: "primary", onclick: () => book(trip, origin, destination, item),
        "aria-label": `Book the train at ${timeline(trip, origin, destination).querySelector("b").textContent} for ${price(trip)}` }, "Book")),
    h("div", { class: "row facts" },
      h("span", { class: "soft" }, trip.operator),
      trip.bicycles_allowed ? h("span", { class: "pill" }, "Bicycles") : null,
      trip.dogs_allowed ? h("span", { class: "pill" }, "Dogs") : null,
      h("span", { class: `pill ${few ? "warn" : ""}` }, `${trip.seats_available} ${trip.seats_available === 1 ? "seat" : "seats"} left`)));
  return item;
}

/** Asks for the passenger, and holds a seat. */
function book(trip, origin, destination, item) {
  const option = (name, text, allowed, wanted) => (allowed
    ? h("label", { class: "check" }, h("input", { type: "checkbox", name, ...(wanted && { checked: true }) }), text)
    : h("p", { class: "small soft" }, `${text}: not on this train`));
  const passenger = h("form", { class: "stack" },
    timeline(trip, origin, destination),
    h("div", { class: "field" }, h("label", { for: "passenger" }, "Passenger"),
      h("input", { id: "passenger", name: "passenger_name", autocomplete: "name", required: true, maxlength: 200, value: sessionStorage.getItem(NAME) ?? "" })),
    h("div", {}, option("has_bicycle", "A bicycle comes along", trip.bicycles_allowed, $("#bicycles").checked), option("has_dog", "A dog comes along", trip.dogs_allowed, $("#dogs").checked)),
    h("button", { class: "primary" }, `Hold a seat for ${price(trip)}`),
    h("p", { class: "small soft" }, "You pay on the next page. The seat is yours until the time there runs out."));
  const box = dialog("Book this train", passenger);
  // One key for each booking: sending it again holds no second seat.
  const key = Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
  let tries = 0;
  passenger.addEventListener("submit", async (event) => {
    event.preventDefault();
    const fields = passenger.elements;
    const json = { trip_id: trip.id, passenger_name: fields.passenger_name.value, has_bicycle: Boolean(fields.has_bicycle?.checked), has_dog: Boolean(fields.has_dog?.checked) };
    const button = $("button.primary", passenger);
    const answer = await busy(button, () => call("POST", "/bookings", { json, headers: { "idempotency-key": `${key}-${tries}` } }));
    if (!answer) return;
    if (answer.ok) {
      sessionStorage.setItem(NAME, json.passenger_name);
      location.assign(`${page.path}/app/booking?id=${answer.data.id}`);
      return;
    }
    // An answer that was given belongs to its key.
    if (answer.status !== 0) tries += 1;
    if (/\/(sold-out|departed)$/.test(answer.problem?.type ?? "")) {
      box.close();
      const sold = answer.problem.type.endsWith("sold-out");
      item.classList.add("gone");
      show($(".offer", item), h("span", { class: "pill bad" }, sold ? "Sold out" : "Departed"));
    }
    if (answer.status === 401 && page.demo === undefined) return visitor.signIn();
    refuse(answer, passenger);
  });
}
