// The form that buys tickets: for general entry, or for an event. The API sells one ticket in a call.

import { busy, h, page, refuse, show, toast } from "./ui.js";
import { call } from "./api.js";
import { mediumDay } from "./days.js";
import { hoursFrom, price, ticketPage } from "./museum.js";
import { keep, tickets } from "./kept.js";

const MOST = 8;
/** As many dates are shown at once; more are in a list that opens. */
const MOST_SHOWN = 8;

/** The form. With an event it offers these of its dates; without one, any day. */
export function sellForm({ today, day, event, dates }) {
  const count = h("input", { id: "sell-count", name: "count", type: "number", min: 1, max: MOST, value: 1, inputmode: "numeric" });
  const total = h("p", { class: "total", role: "status" });
  const buy = h("button", { class: "primary large" });
  const form = h("form", { class: "stack", novalidate: true },
    event ? eventDates(dates) : anyDay(day ?? today, today),
    h("div", { class: "field" }, h("label", { for: "sell-count" }, "Tickets"), h("div", { class: "row joined stepper" }, step(-1, "One ticket less", "−"), count, step(1, "One ticket more", "+"))),
    h("div", { class: "field" }, h("label", { for: "sell-email" }, "Email"),
      h("input", { id: "sell-email", name: "email", type: "email", autocomplete: "email", value: tickets()[0]?.email, placeholder: "you@example.com" }),
      h("p", { class: "hint" }, "The API asks for one. No mail is sent.")),
    total, buy);
  const amount = () => Math.min(MOST, Math.max(1, Math.round(Number(count.value)) || 1));
  const draw = () => {
    show(buy, amount() === 1 ? "Buy the ticket" : `Buy ${amount()} tickets`);
    show(total, event ? ["Together ", h("b", {}, price(event.price * amount()))] : null);
  };
  function step(by, label, sign) {
    return h("button", { type: "button", "aria-label": label, onclick: () => { count.value = Math.min(MOST, Math.max(1, amount() + by)); draw(); } }, sign);
  }
  count.addEventListener("input", draw);
  count.addEventListener("change", () => { count.value = amount(); });
  draw();
  form.addEventListener("submit", (submitted) => {
    submitted.preventDefault();
    busy(buy, () => purchase(form, event, amount()));
  });
  return form;
}

function eventDates(dates) {
  if (dates.length > MOST_SHOWN) {
    return h("div", { class: "field" }, h("label", { for: "sell-date" }, "Date"),
      h("select", { id: "sell-date", name: "ticketDate" }, dates.map((date) => h("option", { value: date }, mediumDay(date)))));
  }
  return h("fieldset", { class: "field" }, h("legend", {}, "Date"), h("div", { class: "chips" },
    dates.map((date, at) => h("label", {}, h("input", { type: "radio", name: "ticketDate", value: date, checked: at === 0 }), h("span", {}, mediumDay(date))))));
}

/** Any day, with its hours under it. */
function anyDay(day, today) {
  const hint = h("p", { class: "hint", role: "status" });
  const input = h("input", { id: "sell-date", name: "ticketDate", type: "date", min: today, value: day });
  const look = async () => {
    const date = input.value;
    if (!date) return show(hint);
    const { answer, open } = await hoursFrom(date, 1);
    if (input.value !== date) return;
    const hours = open.get(date);
    show(hint, !answer.ok ? null : hours ? `${mediumDay(date)}: open ${hours.timeOpen} – ${hours.timeClose}` : "The museum is closed on this day.");
  };
  input.addEventListener("change", look);
  look();
  return h("div", { class: "field" }, h("label", { for: "sell-date" }, "Day of the visit"), input, hint);
}

async function purchase(form, event, amount) {
  const values = new FormData(form);
  const json = {
    ticketType: event ? "event" : "general",
    eventId: event?.eventId,
    ticketDate: values.get("ticketDate") || undefined,
    email: values.get("email").trim() || undefined,
  };
  let sold = 0;
  let last;
  for (; sold < amount; sold += 1) {
    const answer = await call("POST", "/tickets", { json });
    if (!answer.ok) {
      refuse(answer, form);
      if (sold) toast(`${sold} of ${amount} tickets were bought. They are on the page Tickets.`);
      return;
    }
    last = answer.data;
    keep({ ...last, email: json.email, location: event?.location });
  }
  location.assign(amount === 1 ? ticketPage(last.ticketId) : `${page.path}/app/tickets`);
}
