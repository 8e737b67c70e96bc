// The journal of the chosen instance, live: a row for each call, and one call in full.

import { $, explain, h, show, toast } from "./ui.js";
import { bodyOf, copyText, grade, header, size } from "./wire.js";
import { act, call, confirm, follow } from "./operator.js";
import * as instance from "./instance.js";

/** As many calls as the journal has. */
const KEPT = 1000;
const SHOWN = 200;
const RETRY = 3000;

const list = $("#journal-calls");
const filters = $("#journal-filters");
const pause = $("#journal-pause");
const live = $("#journal-live");
const aside = $("#journal");
const opener = $("#journal-open");

/** The calls of the instance, the newest first. */
let calls = [];
/** How many calls came since the list stands still; null if it does not. */
let waiting = null;
let connection = null;
const listeners = [];

/** Calls the listener for each new call of the chosen instance, also for those that the filters hide. */
export const onCall = (listener) => listeners.push(listener);

/** The calls of the chosen instance, the newest first. */
export const known = () => calls;

export function startJournal() {
  show($("#filter-service"), h("option", { value: "" }, "all"), instance.program.services.map((one) => h("option", { value: one.name }, one.title)));
  filters.addEventListener("input", () => draw());
  filters.addEventListener("submit", (event) => event.preventDefault());
  filters.addEventListener("reset", () => setTimeout(draw));
  $("#journal-filter").addEventListener("click", (event) => {
    filters.hidden = !filters.hidden;
    event.target.setAttribute("aria-expanded", String(!filters.hidden));
    if (!filters.hidden) $("#filter-service").focus();
  });
  pause.addEventListener("click", () => {
    waiting = waiting === null ? 0 : null;
    draw();
  });
  $("#journal-clear").addEventListener("click", empty);
  $("#journal-har").addEventListener("click", download);
  const open = (shown) => {
    aside.classList.toggle("open", shown);
    opener.setAttribute("aria-expanded", String(shown));
    (shown ? $("#journal-close") : opener).focus();
  };
  opener.addEventListener("click", () => open(!aside.classList.contains("open")));
  $("#journal-close").addEventListener("click", () => open(false));
  aside.addEventListener("keydown", (event) => event.key === "Escape" && aside.classList.contains("open") && open(false));
  instance.onChange(connect);
}

/** Reads what the journal has, and follows it, until another instance is chosen. */
async function connect(name) {
  connection?.abort();
  const own = new AbortController();
  connection = own;
  calls = [];
  waiting = null;
  draw();
  if (name === null) return;
  while (!own.signal.aborted) {
    const answer = await call("GET", instance.control(`/journal?limit=${KEPT}`, name));
    if (own.signal.aborted) return;
    if (answer.status === 404) {
      instance.setNames((await instance.list() ?? []).map((one) => one.name));
    } else if (answer.ok) {
      calls = answer.data.calls;
      draw();
      await listen(name, own.signal);
    }
    if (own.signal.aborted) return;
    state("offline", answer.ok ? "reconnecting" : explain(answer));
    await new Promise((done) => setTimeout(done, RETRY));
  }
}

async function listen(name, signal) {
  try {
    const status = await follow(instance.control(`/journal/events?since=${calls[0]?.number ?? 0}`, name), signal, (event) => {
      if (signal.aborted) return;
      if (event.name === "open") state("online", "live");
      if (event.name === "") add(JSON.parse(event.data));
    });
    if (status === 429) toast("As many clients as can follow this journal already do.", "bad");
  } catch {
    // The connection ended: it is made again.
  }
}

function state(kind, text) {
  live.className = `live ${kind}`;
  show(live, text);
}

function add(one) {
  calls.unshift(one);
  calls.length = Math.min(calls.length, KEPT);
  listeners.forEach((listener) => listener(one));
  if (waiting !== null) {
    waiting += 1;
    drawPause();
    return;
  }
  last();
  if (!passes(one)) return;
  if (!list.querySelector("details")) return draw();
  list.prepend(element(one, true));
  const rows = list.querySelectorAll("details");
  if (rows.length > SHOWN) rows[rows.length - 1].remove();
}

/** Whether a call passes the filters. */
function passes(one) {
  const { service, method, status, path, caller } = Object.fromEntries(new FormData(filters));
  const has = (text, part) => text.toLowerCase().includes(part.trim().toLowerCase());
  return (!service || one.service === service)
    && (!method || one.method === method)
    && (!status || Math.floor((one.status ?? 0) / 100) === Number(status))
    && (!path || has(one.path, path))
    && (!caller || has([one.caller.user, one.caller.client, one.caller.address].filter(Boolean).join(" "), caller));
}

function draw() {
  drawPause();
  last();
  const found = calls.filter(passes).slice(0, SHOWN);
  const none = instance.name() === null ? "There is no sandbox to follow." : calls.length ? "No call passes the filters." : "No calls yet. Each call to these services appears here.";
  show(list, found.length ? found.map((one) => element(one, false)) : h("p", { class: "quiet" }, none));
}

function drawPause() {
  pause.setAttribute("aria-pressed", String(waiting !== null));
  show(pause, waiting === null ? "Pause" : waiting ? `Go on (${waiting} new)` : "Go on");
}

function last() {
  const one = calls[0];
  show($("#journal-last"), one ? `${one.method} ${one.path} ${one.status ?? "no answer"}` : "no calls yet");
}

/** Who made a call, in a word. */
export const callerOf = (one) => one.caller.user ?? one.caller.client ?? one.caller.address;

const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit" });

function element(one, fresh) {
  const details = h("details", { class: `call${fresh ? " fresh" : ""}`, "data-number": one.number },
    h("summary", {},
      instance.mark(one.service, 18),
      h("span", { class: "method" }, one.method),
      h("span", { class: "path", title: one.path }, one.path),
      h("span", { class: `code ${grade(one.status ?? 0)}` }, String(one.status ?? "no answer")),
      h("span", { class: "ms" }, `${Math.round(one.duration_ms)} ms`),
      h("span", { class: "meta" }, `${clock.format(new Date(one.time))} · ${callerOf(one)}`,
        one.problem ? ` · ${one.problem}` : null, one.fault ? h("b", { class: "fault" }, ` · ${one.fault}`) : null)));
  const of = instance.name();
  details.addEventListener("toggle", async () => {
    if (!details.open || details.children.length > 1) return;
    const place = h("div", { class: "full" }, h("p", { class: "quiet" }, "Reading the call …"));
    details.append(place);
    const answer = await call("GET", instance.control(`/journal/${one.number}`, of));
    show(place, answer.ok ? full(answer.data, of) : h("p", { class: "why" }, explain(answer)));
  });
  return details;
}

function full(found, of) {
  const copy = h("button", { type: "button", class: "right", onclick: async () => {
    const command = await call("GET", instance.control(`/journal/${found.call.number}/curl`, of));
    if (command.ok) copyText(command.text, copy);
    else toast(explain(command), "bad");
  } }, "Copy as curl");
  return [
    h("section", { class: "stack" }, h("h3", {}, "Request", copy), message(`${found.call.method} ${found.call.path}`, found.request)),
    h("section", { class: "stack" }, h("h3", {}, "Answer"), message(String(found.call.status ?? "no answer"), found.answer)),
    found.events.length ? h("section", { class: "stack" }, h("h3", {}, "Webhooks"), events(found)) : null,
    h("p", { class: "head small" }, "Request id ", h("code", {}, found.request_id)),
  ];
}

function message(first, { headers, body }) {
  const pairs = headers.map(({ name, value }) => [name, value]);
  return h("pre", { tabindex: 0 }, h("span", { class: "head" }, h("b", {}, first), "\n", pairs.map(([name, value]) => [h("b", {}, name), `: ${value}\n`])),
    body ? (body.base64 ? `\n${size(body.length)} that are not text` : bodyOf(body.text, header(pairs, "content-type"))) : null,
    body?.truncated ? "\n… the rest is not in the journal" : null);
}

function events(found) {
  return h("ul", { class: "events" }, found.events.map((event) => {
    const deliveries = found.deliveries.filter((one) => one.event === event);
    return h("li", {}, h("code", {}, event), deliveries.length ? h("ul", {}, deliveries.map((one) =>
      h("li", {}, `${one.status}, ${one.attempts} ${one.attempts === 1 ? "attempt" : "attempts"}, subscription `, h("code", {}, one.subscription)))) : " · no subscription");
  }));
}

function empty() {
  const of = instance.name();
  if (of === null) return;
  confirm("Empty the journal?", `The calls of ${instance.title(of)} are deleted from the journal. The data stays.`, "Empty the journal", async () => {
    if (!await act("DELETE", instance.control("/journal", of))) return;
    calls = [];
    draw();
  });
}

async function download() {
  const of = instance.name();
  if (of === null) return;
  const answer = await call("GET", instance.control("/journal/har", of));
  if (!answer.ok) return toast(explain(answer), "bad");
  save(`${of || "root"}.har`, "application/json", answer.text);
}

/** Lets the browser save a text as a file. */
export function save(name, type, text) {
  const href = URL.createObjectURL(new Blob([text], { type }));
  h("a", { href, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(href), 10_000);
}
