// The subscriptions of the visitor, with their deliveries, and the built-in receiver.

import { $, busy, clearFaults, dialog, explain, h, moment, refuse, show, toast } from "./ui.js";
import { call } from "./api.js";
import * as visitor from "./visitor.js";
import { expect, receiver, resume } from "./inbox.js";

const root = $("#subscriptions");
const form = $("#subscribe");

/** Why a subscription is disabled. */
const WHY = { gone: "It answered that nothing should be sent there any more.", failing: "All attempts of five days failed." };

receiver($("#receive"), list);
await list();
resume();

form.addEventListener("submit", (event) => {
  event.preventDefault();
  clearFaults(form);
  busy($("button", form), async () => {
    const answer = await call("POST", "/webhooks", { json: { url: form.elements.url.value.trim() } });
    if (!answer.ok) return refuse(answer, form);
    form.reset();
    await list();
    secret(answer.data.secret);
  });
});

/** Shows a secret, once. */
function secret(text) {
  const field = h("input", { id: "secret", class: "mono", readonly: true, value: text });
  dialog("The secret of this subscription",
    h("p", {}, "It signs the events. No later answer has it: keep it now, where your receiver finds it."),
    h("div", { class: "field" }, h("label", { for: "secret" }, "Secret"), field));
  field.focus();
  field.select();
}

async function list() {
  const answer = await call("GET", "/webhooks", { query: { limit: 100 } });
  if (!answer.ok) {
    return show(root, answer.status === 401
      ? h("div", { class: "empty stack" }, h("p", {}, "Sign in to see your subscriptions."), h("div", {}, h("button", { type: "button", class: "primary", onclick: () => visitor.signIn() }, "Sign in")))
      : h("p", { class: "note bad" }, explain(answer)));
  }
  const found = answer.data.data;
  show(root, found.length ? h("ul", { class: "list cards" }, found.map(item)) : h("p", { class: "empty" }, "No address is subscribed yet."));
}

function item(webhook) {
  const deliveries = h("div", { class: "deliveries" });
  const details = h("details", {}, h("summary", {}, "Deliveries"), deliveries);
  details.addEventListener("toggle", () => details.open && load(webhook, deliveries));
  const button = (text, action, kind = "") => {
    const element = h("button", { type: "button", class: `small ${kind}`, onclick: () => busy(element, action) }, text);
    return element;
  };
  const changed = () => details.open && load(webhook, deliveries);
  return h("li", { class: "card stack" },
    h("div", { class: "row between" }, h("code", { class: "address" }, webhook.url),
      h("span", { class: `pill ${webhook.status === "active" ? (webhook.failing_since ? "warn" : "good") : "bad"}` }, webhook.status === "active" ? (webhook.failing_since ? "Failing" : "Active") : "Disabled")),
    webhook.disabled_because ? h("p", { class: "small soft" }, `${WHY[webhook.disabled_because] ?? ""} A test event enables it again.`) : null,
    h("div", { class: "row" },
      button("Send a test event", async () => {
        const answer = await call("POST", `/webhooks/${webhook.id}/test`);
        if (!answer.ok) return refuse(answer);
        toast("The test event is on its way.");
        expect();
        changed();
      }),
      button("Replace the secret", async () => {
        const answer = await call("POST", `/webhooks/${webhook.id}/secret`);
        if (answer.ok) secret(answer.data.secret);
        else refuse(answer);
      }),
      button("Delete", async () => {
        const answer = await call("DELETE", `/webhooks/${webhook.id}`);
        if (!answer.ok && answer.status !== 404) return refuse(answer);
        await list();
        form.elements.url.focus();
      }, "danger")),
    details);
}

async function load(webhook, place) {
  const answer = await call("GET", `/webhooks/${webhook.id}`);
  if (!answer.ok) return show(place, h("p", { class: "note bad" }, explain(answer)));
  const attempts = answer.data.deliveries;
  const reload = h("button", { type: "button", class: "small", onclick: () => busy(reload, () => load(webhook, place)) }, "Read again");
  if (!attempts.length) return show(place, h("p", { class: "soft" }, "Nothing was sent yet."), reload);
  show(place, h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Deliveries" }, h("table", {},
    h("thead", {}, h("tr", {}, ["Time", "Event", "Result", "Took", ""].map((text) => h("th", { scope: "col" }, text || h("span", { class: "visually-hidden" }, "Actions"))))),
    h("tbody", {}, attempts.map((attempt) => {
      const again = h("button", { type: "button", class: "small", onclick: () => busy(again, async () => {
        const sent = await call("POST", `/webhooks/${webhook.id}/redeliver`, { json: { event_id: attempt.event_id } });
        if (!sent.ok) return refuse(sent);
        toast("The event is on its way again.");
        expect();
      }) }, "Redeliver");
      return h("tr", {}, h("td", {}, moment(attempt.time)), h("td", { class: "mono small", title: attempt.event_id }, `…${attempt.event_id.slice(-8)}`),
        h("td", {}, attempt.error ? h("span", { class: "pill bad" }, attempt.error) : h("span", { class: "pill good" }, String(attempt.status))),
        h("td", {}, `${attempt.duration_ms} ms`), h("td", {}, again));
    })))), reload);
}
