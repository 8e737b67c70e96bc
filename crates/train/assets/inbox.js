// The built-in receiver: an inbox of the service, whose messages slide in as they arrive.

import { $, busy, explain, follow, h, moment, now, page, show, toast } from "./ui.js";
import { call } from "./api.js";
import * as visitor from "./visitor.js";
import { isSigned } from "./signature.js";

/** How often the inbox is read: often after something was sent, seldom otherwise. */
const SOON = 700;
const LATER = 5000;
const SOON_FOR = 20_000;
const STORE = `inbox:${page.path}:${visitor.name() ?? ""}`;

let inbox = remembered();
let webhook = inbox?.webhook;
let seen = 0;
let lively = 0;
let timer;

function remembered() {
  try {
    return JSON.parse(sessionStorage.getItem(STORE));
  } catch {
    return null;
  }
}

const root = $("#inbox");

/** Continues with the inbox of this tab, if it has one that still exists. */
export function resume() {
  if (inbox) look();
}

/** Watches closely: something was sent. */
export function expect() {
  if (!inbox) return;
  lively = performance.now();
  clearTimeout(timer);
  look();
}

/** Makes an inbox and a subscription to it, and sends a test event. changed() is called when the subscriptions have changed. */
export async function receive(changed) {
  if (inbox && (await call("GET", `/inboxes/${inbox.id}`)).ok && (await call("GET", `/webhooks/${webhook}`)).ok) {
    await test();
    return;
  }
  forget();
  await tidy();
  const made = await call("POST", "/inboxes");
  if (!made.ok) return failed(made);
  const subscribed = await call("POST", "/webhooks", { json: { url: made.data.url } });
  if (!subscribed.ok) return failed(subscribed);
  webhook = subscribed.data.id;
  inbox = { id: made.data.id, url: made.data.url, expires: made.data.expires_at, webhook, secret: subscribed.data.secret };
  sessionStorage.setItem(STORE, JSON.stringify(inbox));
  seen = 0;
  draw([]);
  changed();
  await test();
}

/** Deletes own subscriptions whose inbox has expired: there can be only so many. */
async function tidy() {
  const [inboxes, webhooks] = await Promise.all([call("GET", "/inboxes", { query: { limit: 100 } }), call("GET", "/webhooks", { query: { limit: 100 } })]);
  if (!inboxes.ok || !webhooks.ok) return;
  const alive = new Set(inboxes.data.data.map((one) => one.url));
  const isInbox = (url) => url.startsWith(`${page.address}${page.api.slice(page.path.length)}/inboxes/`);
  for (const { id, url } of webhooks.data.data) if (isInbox(url) && !alive.has(url)) await call("DELETE", `/webhooks/${id}`);
}

async function test() {
  const sent = await call("POST", `/webhooks/${webhook}/test`);
  if (!sent.ok) return failed(sent);
  expect();
}

function failed(answer) {
  toast(explain(answer), "bad");
}

function forget() {
  inbox = null;
  webhook = undefined;
  sessionStorage.removeItem(STORE);
  clearTimeout(timer);
  show(root);
}

/** Reads the inbox, and shows what is new. Only answers with news are shown on the wire. */
async function look() {
  clearTimeout(timer);
  const mine = inbox;
  if (!mine) return;
  if (!document.hidden) {
    const answer = await call("GET", `/inboxes/${mine.id}`, { recorded: false });
    if (inbox !== mine) return;
    follow(answer);
    if (answer.status === 404) {
      forget();
      return show(root, h("p", { class: "note" }, "The inbox has expired. Press the button for a new one."));
    }
    if (answer.ok) draw(answer.data.messages);
  }
  clearTimeout(timer);
  timer = setTimeout(look, performance.now() - lively < SOON_FOR ? SOON : LATER);
}

document.addEventListener("visibilitychange", () => !document.hidden && inbox && look());

let list;
let waiting;

function draw(messages) {
  if (!list?.isConnected) {
    list = h("ul", { class: "list messages", "aria-live": "polite", "aria-label": "Received events" });
    waiting = h("p", { class: "waiting soft" }, "Waiting for the event …");
    const minutes = Math.max(1, Math.round((Date.parse(inbox.expires) - now()) / 60_000));
    show(root, h("div", { class: "stack" },
      h("p", { class: "small soft" }, "Events for ", h("code", {}, inbox.url), ` arrive here. The inbox exists for ${minutes} more ${minutes === 1 ? "minute" : "minutes"}.`), waiting, list));
    seen = 0;
  }
  const fresh = messages.filter((message) => message.number > seen).sort((one, other) => one.number - other.number);
  for (const message of fresh) {
    list.prepend(element(message));
    while (list.children.length > 20) list.lastChild.remove();
    seen = message.number;
  }
  waiting.hidden = list.children.length > 0;
}

function element(message) {
  const header = (name) => message.headers.find((one) => one.name === name)?.value ?? "";
  const signed = { id: header("webhook-id"), time: header("webhook-timestamp"), signatures: header("webhook-signature"), body: message.body };
  let passenger = "";
  try {
    passenger = JSON.parse(message.body).passenger_name ?? "";
  } catch {
    // Not of this service: shown as it is.
  }
  const verdict = h("span", { class: "pill", role: "status" });
  const body = h("pre", { class: "payload", tabindex: 0 }, pretty(message.body));
  const check = (text) => {
    const right = Boolean(inbox?.secret) && isSigned(inbox.secret, { ...signed, body: text });
    verdict.className = `pill ${right ? "good" : "bad"}`;
    verdict.textContent = right ? "Signature is right" : "Signature does not fit";
  };
  const forge = h("button", { type: "button", class: "small", "aria-pressed": "false", onclick: () => {
    const forged = forge.getAttribute("aria-pressed") !== "true";
    forge.setAttribute("aria-pressed", String(forged));
    forge.textContent = forged ? "Restore the body" : "Change the body";
    const text = forged ? message.body.replace(passenger || /\w/, "Mallory") : message.body;
    show(body, pretty(text));
    check(text);
  } }, "Change the body");
  check(message.body);
  return h("li", { class: "message" },
    h("div", { class: "row between" },
      h("div", {}, h("b", {}, "newBooking"), h("span", { class: "soft" }, passenger ? ` · ${passenger}` : ""), h("span", { class: "soft small" }, ` · ${moment(message.received_at)}`)),
      h("div", { class: "row" }, verdict, forge)),
    h("details", {}, h("summary", {}, "Headers and body"),
      h("div", { class: "scroll" }, h("dl", { class: "facts mono small" }, message.headers.map(({ name, value }) => [h("dt", {}, name), h("dd", {}, value)]))),
      body));
}

function pretty(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

/** The button that does it all. */
export function receiver(button, changed) {
  button.addEventListener("click", () => busy(button, () => receive(changed)));
}
