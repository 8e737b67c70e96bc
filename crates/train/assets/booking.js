// One booking: the hold with its countdown, the payment, the ticket.

import { $, busy, dialog, explain, follow, h, now, page, refuse, show, svg, toast } from "./ui.js";
import { call } from "./api.js";
import * as visitor from "./visitor.js";
import { stations } from "./stations.js";
import { CARDS, FAILURES, grouped } from "./cards.js";
import { dayAt, price, timeline } from "./trip.js";

/** How often the booking is read again while something may change. */
const PENDING_PAUSE = 1000;
const HELD_PAUSE = 20_000;
/** The circle of the countdown shows an hour, the usual time of a hold. */
const HOUR = 3_600_000;

const id = new URLSearchParams(location.search).get("id") ?? "";
const root = $("#booking");
const said = $("#said");
let booking;
let trip;
let all;
let ticking;
let pending = false;
let ticket;

async function load() {
  if (!/^[0-9a-f-]{36}$/i.test(id)) return missing("This address names no booking.");
  const answer = await read(true);
  if (!answer.ok) {
    if (answer.status === 401) return missing("Sign in to see this booking.", true);
    return missing(answer.status === 404 ? "There is no such booking of yours. It may have been cancelled." : explain(answer), answer.status === 404 && !visitor.name());
  }
  ({ all } = await stations());
  const found = await call("GET", `/trips/${booking.trip_id}`);
  trip = found.ok ? found.data : null;
  draw();
}

/** Reads the booking, and follows the service's clock. */
async function read(recorded) {
  const answer = await call("GET", `/bookings/${id}`, { recorded });
  follow(answer);
  if (answer.ok) booking = answer.data;
  return answer;
}

function missing(text, signIn = false) {
  show(root, h("div", { class: "empty stack" }, h("p", {}, text),
    h("div", { class: "row middle" }, signIn ? h("button", { type: "button", class: "primary", onclick: () => visitor.signIn() }, "Sign in") : null,
      h("a", { class: "button", href: `${page.path}/` }, "Find a train"))));
}

const from = () => all.get(trip?.origin);
const to = () => all.get(trip?.destination);

function draw() {
  clearTimeout(ticking);
  if (trip) $("#heading").textContent = `${from()?.name} → ${to()?.name}`;
  if (booking.status === "held") held();
  else if (booking.status === "confirmed") confirmed();
  else expired();
}

const PILLS = { held: ["warn", "Not paid yet"], confirmed: ["good", "Paid"], expired: ["bad", "Expired"] };

/** What is booked, in words. */
function facts() {
  const [kind, word] = PILLS[booking.status];
  return [
    h("div", { class: "row between" }, h("h2", {}, trip ? dayAt(trip.departure_time, from()) : "A train that no longer runs"), h("span", { class: `pill ${kind}` }, word)),
    trip ? timeline(trip, from(), to()) : null,
    h("dl", { class: "facts" },
      h("dt", {}, "Passenger"), h("dd", {}, booking.passenger_name),
      trip ? [h("dt", {}, "Operator"), h("dd", {}, trip.operator), h("dt", {}, "Price"), h("dd", {}, price(trip))] : null,
      booking.has_bicycle || booking.has_dog ? [h("dt", {}, "With"), h("dd", {}, [booking.has_bicycle && "a bicycle", booking.has_dog && "a dog"].filter(Boolean).join(" and "))] : null,
      h("dt", {}, "Booking"), h("dd", { class: "mono small" }, booking.id)),
  ];
}

function held() {
  const ring = svg("circle", { class: "left", cx: 50, cy: 50, r: 44, pathLength: 1, "stroke-dasharray": 1 });
  const left = h("b", { class: "minutes" });
  const until = Date.parse(booking.expires_at);
  show(root, h("div", { class: "split" },
    h("section", { class: "card stack", "aria-label": "Payment" }, payForm()),
    h("div", { class: "stack" },
      h("section", { class: "card countdown", "aria-label": "The hold" },
        h("div", { class: "ring" }, svg("svg", { viewBox: "0 0 100 100", "aria-hidden": "true" }, svg("circle", { class: "all", cx: 50, cy: 50, r: 44 }), ring), left),
        h("div", {}, h("h2", {}, "Your seat is held"), h("p", { class: "soft" }, "Pay before the time runs out. After that the seat is free for others."))),
      h("section", { class: "card stack", "aria-label": "The booking" }, facts(), cancelButton("Give the seat back")))));
  let checked = performance.now();
  const tick = async () => {
    const rest = until - now();
    left.textContent = clockOf(rest);
    ring.setAttribute("stroke-dashoffset", String(1 - Math.max(0, Math.min(1, rest / HOUR))));
    ring.classList.toggle("soon", rest < 5 * 60_000);
    // The service decides when the hold has expired; its clock may have been moved.
    if (rest <= 0 || performance.now() - checked > HELD_PAUSE) {
      checked = performance.now();
      const answer = await read(false);
      if (answer.status === 404) return missing("The booking was cancelled.");
      if (booking.status !== "held") return draw();
    }
    ticking = setTimeout(tick, 500);
  };
  tick();
}

function clockOf(milliseconds) {
  const seconds = Math.max(0, Math.ceil(milliseconds / 1000));
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60];
  const two = (number) => String(number).padStart(2, "0");
  return hours ? `${hours}:${two(minutes)}:${two(seconds % 60)}` : `${minutes}:${two(seconds % 60)}`;
}

function payForm() {
  const field = (name, label, more, wide) => h("div", { class: `field ${wide ? "wide" : ""}` }, h("label", { for: `pay-${name}` }, label), h("input", { id: `pay-${name}`, name: `source/${name}`, required: true, ...more }));
  const year = new Date(now()).getUTCFullYear() + 4;
  const form = h("form", { class: "stack" },
    h("h2", {}, trip ? `Pay ${price(trip)}` : "Pay"),
    h("fieldset", {}, h("legend", {}, "Test cards"), h("div", { class: "testcards" }, CARDS.map((card) => {
      const button = h("button", { type: "button", "aria-pressed": "false", onclick: () => pick(card) },
        h("span", { class: `pill ${card.kind}` }, card.name), h("span", { class: "mono small" }, `•••• ${card.number.slice(-4)}`), h("span", { class: "small soft about" }, card.about));
      button.dataset.number = card.number;
      return button;
    }))),
    h("div", { class: "cardfields" },
      field("number", "Card number", { inputmode: "numeric", autocomplete: "off", maxlength: 30 }, true),
      field("name", "Name on the card", { autocomplete: "off", value: booking.passenger_name }, true),
      field("exp_month", "Month", { type: "number", min: 1, max: 12, value: 12 }),
      field("exp_year", "Year", { type: "number", min: 2000, max: 2100, value: year }),
      field("cvc", "CVC", { inputmode: "numeric", autocomplete: "off", maxlength: 4, value: "123" }),
      field("address_country", "Country", { autocomplete: "off", maxlength: 2, value: "gb" })),
    h("button", { class: "primary", id: "pay" }, trip ? `Pay ${price(trip)}` : "Pay"),
    h("p", { class: "small soft" }, "No money moves: the sandbox decides by the number of the card."));
  const number = form.elements["source/number"];
  const pressed = () => form.querySelectorAll(".testcards button").forEach((button) => button.setAttribute("aria-pressed", String(button.dataset.number === number.value.replace(/\s/g, ""))));
  const pick = (card) => {
    number.value = grouped(card.number);
    pressed();
  };
  number.addEventListener("input", pressed);
  pick(CARDS[0]);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    busy($("#pay"), () => pay(form));
  });
  return form;
}

async function pay(form) {
  const value = (name) => form.elements[`source/${name}`].value.trim();
  const source = { object: "card", name: value("name"), number: value("number").replace(/\s/g, ""), cvc: value("cvc"),
    exp_month: Number(value("exp_month")), exp_year: Number(value("exp_year")), address_country: value("address_country") };
  show(said);
  const answer = await call("POST", `/bookings/${id}/payment`, { json: { source } });
  if (!answer.ok) {
    refuse(answer, form);
    if (!answer.problem?.errors?.length) {
      show(said, h("p", { class: "note bad" }, explain(answer)));
      await read(false);
      if (booking.status !== "held") draw();
    }
    return;
  }
  if (answer.data.status === "failed") {
    show(said, h("p", { class: "note bad" }, h("b", {}, FAILURES[answer.data.failure] ?? "The payment failed."), " Nothing was charged, and the seat is still held. Try another card."));
    return;
  }
  if (answer.data.status === "pending") {
    pending = true;
    show(said, h("p", { class: "note warn" }, h("b", {}, "The bank is still deciding."), " This page waits for the answer."));
    while (pending && booking.status === "held") {
      await new Promise((done) => setTimeout(done, PENDING_PAUSE));
      await read(false);
    }
    pending = false;
  } else {
    await read(true);
  }
  show(said, booking.status === "confirmed" ? h("p", { class: "note good" }, h("b", {}, "Paid."), " Have a good journey!") : null);
  draw();
  $("#heading").setAttribute("tabindex", "-1");
  $("#heading").focus();
}

async function confirmed() {
  pending = false;
  const image = h("div", { class: "code" }, h("div", { class: "skeleton" }));
  show(root, h("article", { class: "ticket", "aria-label": "Ticket" },
    h("div", { class: "stack main" }, facts()),
    h("div", { class: "stub" }, image, h("p", { class: "small soft" }, "Show this code on the train."))),
  h("div", { class: "row no-print actions" },
    h("button", { type: "button", onclick: () => print() }, "Print"),
    cancelButton("Cancel the booking"),
    h("a", { class: "button", href: `${page.path}/` }, "Find another train")));
  const answer = ticket ?? await call("GET", `/bookings/${id}/qr`, { accept: "image/png" });
  if (!answer.ok) return show(image, h("p", { class: "small" }, explain(answer)));
  ticket = answer;
  show(image, h("img", { src: URL.createObjectURL(answer.blob), alt: "QR code of the ticket", width: 200, height: 200 }));
}

function expired() {
  show(root, h("div", { class: "split" },
    h("section", { class: "card stack" }, h("h2", {}, "The hold has expired"), h("p", {}, "It was not paid for in time, and the seat is free for others. Nothing was charged."),
      h("div", {}, h("a", { class: "button primary", href: again() }, "Book again"))),
    h("section", { class: "card stack", "aria-label": "The booking" }, facts(), cancelButton("Remove from my bookings"))));
}

function again() {
  if (!trip) return `${page.path}/`;
  return `${page.path}/?${new URLSearchParams({ from: trip.origin, to: trip.destination })}`;
}

function cancelButton(text) {
  return h("button", { type: "button", class: "danger", onclick: () => {
    const paid = booking.status === "confirmed";
    const sure = h("button", { type: "button", class: "danger", onclick: () => busy(sure, async () => {
      const answer = await call("DELETE", `/bookings/${id}`);
      box.close();
      if (!answer.ok) return refuse(answer);
      clearTimeout(ticking);
      pending = false;
      show(said);
      missing(paid ? "The booking is cancelled, and the money goes back." : "The seat is free again.");
      toast("Cancelled.");
    }) }, text);
    const box = dialog("Are you sure?", h("p", {}, paid ? "The ticket is no longer valid then, and the payment is refunded." : "The seat is free for others then."),
      h("div", { class: "row" }, sure, h("button", { type: "button", onclick: () => box.close() }, "Keep it")));
  } }, text);
}

await load();
