// All bookings of the visitor.

import { $, explain, follow, h, now, page, show } from "./ui.js";
import { call } from "./api.js";
import * as visitor from "./visitor.js";
import { stations } from "./stations.js";
import { dayAt, timeline } from "./trip.js";

const root = $("#bookings");
const PILLS = { held: ["warn", "Not paid yet"], confirmed: ["good", "Paid"], expired: ["bad", "Expired"] };
let shown = null;

await more(1);

async function more(number) {
  const answer = await call("GET", "/bookings", { query: { page: number, limit: 10 } });
  follow(answer);
  if (!answer.ok) {
    return show(root, answer.status === 401
      ? h("div", { class: "empty stack" }, h("p", {}, "Sign in to see your bookings."), h("div", {}, h("button", { type: "button", class: "primary", onclick: () => visitor.signIn() }, "Sign in")))
      : h("p", { class: "note bad" }, explain(answer)));
  }
  const { data, links } = answer.data;
  if (number === 1 && data.length === 0) {
    return show(root, h("div", { class: "empty stack" }, h("p", {}, "You have no bookings yet."), h("div", {}, h("a", { class: "button primary", href: `${page.path}/` }, "Find a train"))));
  }
  const { all } = await stations();
  const trips = await Promise.all([...new Set(data.map((booking) => booking.trip_id))].map((id) => call("GET", `/trips/${id}`)));
  const byId = new Map(trips.filter((found) => found.ok).map((found) => [found.data.id, found.data]));
  if (!shown) {
    shown = h("ul", { class: "list trips" });
    show(root, page.demo !== undefined && !visitor.name()
      ? h("p", { class: "note" }, "You are a guest of this demo: all guests share their bookings. Sign in to have your own.") : null, shown);
  }
  shown.append(...data.map((booking) => item(booking, byId.get(booking.trip_id), all)));
  $("#more")?.remove();
  if (links.next) root.append(h("div", { id: "more" }, h("button", { type: "button", onclick: () => more(number + 1) }, "Show older ones")));
}

function item(booking, trip, all) {
  const [from, to] = [all.get(trip?.origin), all.get(trip?.destination)];
  const [kind, word] = PILLS[booking.status];
  const minutes = booking.expires_at ? Math.max(1, Math.round((Date.parse(booking.expires_at) - now()) / 60_000)) : 0;
  return h("li", { class: "card booked stack" },
    h("div", { class: "row between" },
      h("h2", {}, h("a", { href: `${page.path}/app/booking?id=${booking.id}` }, trip ? dayAt(trip.departure_time, from) : "A train that no longer runs", h("span", { class: "visually-hidden" }, `, ${from?.name ?? ""} to ${to?.name ?? ""}, ${booking.passenger_name}`))),
      h("span", { class: `pill ${kind}` }, word)),
    trip ? timeline(trip, from, to) : null,
    h("p", { class: "soft small" }, booking.passenger_name, booking.status === "held" ? ` · pay within ${minutes} ${minutes === 1 ? "minute" : "minutes"}` : ""));
}
