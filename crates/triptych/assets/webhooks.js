// Webhook deliveries, as the journal of the chosen instance tells them.

import { $, h, moment, show } from "./ui.js";
import { call, repeat } from "./operator.js";
import * as instance from "./instance.js";
import { known } from "./journal.js";

const EVERY = 5000;
/** Of how many calls the events are read. */
const LOOKED_AT = 40;

/** Calls in full whose deliveries have ended, by their number. */
let ended = new Map();

export function startWebhooks() {
  const refresh = repeat(EVERY, read);
  instance.onChange(() => {
    ended = new Map();
    refresh();
  });
  document.addEventListener("view", (event) => event.detail === "webhooks" && refresh());
}

/** A call that may have caused an event. */
const mayCause = (one) => one.method !== "GET" && one.method !== "HEAD" && one.status >= 200 && one.status < 300;

async function read() {
  const of = instance.name();
  if ($("#view-webhooks").hidden) return;
  if (of === null) return draw([]);
  const wanted = known().filter(mayCause).slice(0, LOOKED_AT);
  const found = await Promise.all(wanted.map(async (one) => {
    if (ended.has(one.number)) return ended.get(one.number);
    const answer = await call("GET", instance.control(`/journal/${one.number}`, of));
    if (!answer.ok) return null;
    if (answer.data.deliveries.every((delivery) => ["delivered", "failed"].includes(delivery.status))) ended.set(one.number, answer.data);
    return answer.data;
  }));
  if (of === instance.name()) draw(found.filter((one) => one?.events.length));
}

const KIND = { delivered: "good", failed: "bad", waiting: "warn" };

function draw(found) {
  show($("#delivery-list"), found.length ? found.map((one) => h("article", { class: "card stack delivery" },
    h("div", { class: "row between" },
      h("h2", {}, instance.mark(one.call.service, 20), " ", h("code", {}, `${one.call.method} ${one.call.path}`)),
      h("span", { class: "soft small" }, moment(one.call.time))),
    one.events.map((event) => {
      const deliveries = one.deliveries.filter((delivery) => delivery.event === event);
      return h("div", { class: "stack" },
        h("p", { class: "small" }, "Event ", h("code", {}, event)),
        deliveries.length ? h("ul", { class: "list" }, deliveries.map((delivery) => h("li", { class: "row" },
          h("span", { class: `pill ${KIND[delivery.status] ?? "accent"}` }, delivery.status),
          h("span", {}, delivery.attempts === 1 ? "1 attempt" : `${delivery.attempts} attempts`),
          h("span", { class: "soft small" }, "subscription ", h("code", {}, delivery.subscription)))))
          : h("p", { class: "soft small" }, "No subscription wanted this event."));
    })))
    : h("div", { class: "empty stack" }, h("p", {}, "The last calls caused no events."),
      h("p", { class: "small" }, "A booking of the train service that is confirmed or cancelled causes one. ", h("code", {}, "triptych webhook listen"), " receives deliveries on this machine.")));
}
