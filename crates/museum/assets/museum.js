// What several pages of the museum need: its time, hours and events.

import { explain, h, page, show } from "./ui.js";
import { call } from "./api.js";
import { known, signIn } from "./visitor.js";
import { days, plus } from "./days.js";

/** The longest period that one page of a list can cover. */
const LONGEST = 30;

/** The day and the time of the museum; null if it cannot be reached. Its clock is not that of the browser, in a sandbox above all. */
export async function museumTime() {
  const answer = await call("GET", "/museum-hours/now", { auth: false });
  return answer.ok ? answer.data : null;
}

/** Today by the clock of this device, if the museum does not say. */
export const dayHere = () => new Date().toLocaleDateString("sv-SE");

/** The hours of the open days of a period, by day. */
export async function hoursFrom(first, count) {
  const answer = await call("GET", "/museum-hours", { auth: false, query: { startDate: first, limit: count } });
  const last = plus(first, count - 1);
  const open = new Map((answer.ok ? answer.data : []).filter((hours) => hours.date <= last).map((hours) => [hours.date, hours]));
  return { answer, open };
}

/** The events of a period: once each, in the order of their first day in it. */
export async function eventsFrom(first, count) {
  const pages = Math.ceil(count / LONGEST);
  const limit = Math.ceil(count / pages);
  const query = { startDate: first, endDate: plus(first, count - 1), limit };
  const answers = await Promise.all(days(first, pages).map((_, at) => call("GET", "/special-events", { query: { ...query, page: at + 1 } })));
  const refused = answers.find((answer) => !answer.ok);
  const events = new Map(answers.filter((answer) => answer.ok).flatMap((answer) => answer.data).map((event) => [event.eventId, event]));
  return { refused, events: [...events.values()] };
}

const prices = new Intl.NumberFormat(navigator.language, { minimumFractionDigits: 2, maximumFractionDigits: 6 });

/** A price: the API has no currency. */
export const price = (amount) => (amount === 0 ? "Free" : prices.format(amount));

export const eventPage = (event) => `${page.path}/app/event?id=${encodeURIComponent(event.eventId)}`;
export const ticketPage = (id) => `${page.path}/app/ticket?id=${encodeURIComponent(id)}`;

/** An id or a day in the address of the page. */
export const asked = (name) => new URLSearchParams(location.search).get(name);

/** The id in the address of the page. An address without one leads to the list instead. */
export async function askedId(list) {
  const id = asked("id");
  if (id) return id;
  location.replace(`${page.path}${list}`);
  return new Promise(() => {});
}

/** Writes a day into the address, so that a reload shows the same. */
export function remember(name, value) {
  const address = new URL(location.href);
  address.searchParams.set(name, value);
  history.replaceState(null, "", address);
}

/** Shows that a call was refused in the place of its answer; asks for credentials if these are missing. */
export function showRefusal(place, answer, heading = "This could not be loaded", level = "h3") {
  const signedOut = answer.status === 401 || !known();
  show(place, h("div", { class: "empty stack" },
    h(level, {}, signedOut ? "Sign in first" : heading),
    h("p", {}, signedOut ? "The museum shows this to its accounts only." : explain(answer)),
    h("p", {}, signedOut
      ? h("button", { type: "button", class: "primary", onclick: () => signIn() }, "Sign in")
      : h("button", { type: "button", onclick: () => location.reload() }, "Try again"))));
}
