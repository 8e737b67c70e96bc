// The controls of the chosen instance in one click, and a band that shows what is not as usual.

import { $, busy, h, moment, show, toast } from "./ui.js";
import { act, call, confirm, repeat } from "./operator.js";
import * as instance from "./instance.js";
import { onCall } from "./journal.js";

const EVERY = 5000;
/** A clock that differs by more from this machine's is shown as moved. */
const MOVED = 60_000;

const FAULTS = [
  { label: "Slow down", rule: { delay_ms: 2000 }, text: "each call waits 2 seconds" },
  { label: "Fail the next", rule: { first: 1, status: 503 }, text: "the next call fails" },
  { label: "Fail each third", rule: { every: 3, status: 503 }, text: "each third call fails" },
  { label: "Cut the connection", rule: { drop: "before" }, text: "each connection is cut" },
];

/** What is in effect now. */
let state = null;
let refresh = () => {};

export function startPresenter() {
  const toggle = $("#deck-toggle");
  const wide = matchMedia("(min-width: 48rem)");
  const open = (shown) => {
    $("#deck-controls").hidden = !shown;
    toggle.setAttribute("aria-expanded", String(shown));
  };
  toggle.addEventListener("click", () => open($("#deck-controls").hidden));
  open(wide.matches);
  build();
  instance.onChange(() => {
    state = null;
    draw();
    refresh();
  });
  refresh = repeat(EVERY, read);
  setInterval(drawClock, 1000);
  onCall(useUp);
}

async function read() {
  const of = instance.name();
  if (of === null) return draw();
  const [faults, clock, signIn] = await Promise.all(["/faults", "/clock", "/sign-in"].map((path) => call("GET", instance.control(path, of))));
  if (of !== instance.name()) return read();
  if (!faults.ok || !clock.ok || !signIn.ok) return;
  state = { rules: faults.data.rules, signIn: signIn.data, frozen: clock.data.frozen, offset: new Date(clock.data.time) - Date.now(), time: clock.data.time };
  draw();
}

/** Does something to the chosen instance, and shows the result. */
async function change(button, method, path, json) {
  await busy(button, async () => {
    await act(method, instance.control(path), json);
    await read();
  });
}

const elements = { faults: [], modes: [] };

function build() {
  const service = h("select", { id: "fault-service", class: "small" }, h("option", { value: "" }, "all services"),
    instance.program.services.map((one) => h("option", { value: one.name }, one.title)));
  for (const fault of FAULTS) {
    const button = h("button", { type: "button", class: "small fault-button", "aria-pressed": "false" }, fault.label);
    button.addEventListener("click", () => toggleFault(button, fault, service.value));
    elements.faults.push({ fault, button });
  }
  elements.clear = h("button", { type: "button", class: "small", onclick: () => change(elements.clear, "DELETE", "/faults") }, "Clear");
  elements.time = h("b", { class: "time" });
  const clock = (label, change_) => {
    const button = h("button", { type: "button", class: "small" }, label);
    button.addEventListener("click", () => change(button, "PATCH", "/clock", change_()));
    return button;
  };
  elements.freeze = clock("Freeze", () => ({ frozen: !state?.frozen }));
  for (const [mode, label] of [["enforce", "Enforced"], ["any", "Any"], ["off", "Off"]]) {
    const button = h("button", { type: "button", "aria-pressed": "false" }, label);
    button.addEventListener("click", () => state && change(button, "PUT", "/sign-in", { ...state.signIn, mode }));
    elements.modes.push({ mode, button });
  }
  elements.expire = h("button", { type: "button", class: "small" }, "Expire tokens");
  elements.expire.addEventListener("click", () => busy(elements.expire, async () => {
    if (await act("POST", instance.control("/sign-in/expire"))) toast(`All tokens of ${instance.title()} have expired.`);
  }));
  elements.reset = h("button", { type: "button", class: "small" }, "Reset data");
  elements.reset.addEventListener("click", () => reset(instance.name()));
  const group = (label, id, head, ...buttons) => h("div", { class: "group", role: "group", "aria-labelledby": id },
    h("div", { class: "row group-head" }, h("h3", { id }, label), head), h("div", { class: "row buttons" }, buttons));
  show($("#deck-controls"),
    group("Faults", "deck-faults", h("label", { class: "of" }, "of ", service), elements.faults.map(({ button }) => button), elements.clear),
    group("Clock", "deck-clock", elements.time, clock("+1 hour", () => ({ advance: "1h" })), clock("+1 day", () => ({ advance: "1 day" })),
      elements.freeze, clock("Now", () => ({ time: new Date().toISOString(), frozen: false }))),
    group("Sign-in", "deck-sign-in", null, h("div", { class: "choice" }, elements.modes.map(({ button }) => button)), elements.expire, elements.reset));
}

/** Restores the data of an instance, after a question. */
export function reset(of, done = () => {}) {
  confirm(`Reset ${instance.title(of)}?`, "The data of all three services becomes what it was at the beginning. Accounts and tokens stay.", "Reset the data", async () => {
    if (!await act("POST", instance.control("/reset", of))) return;
    toast(`The data of ${instance.title(of)} was reset.`);
    done();
  });
}

/** A member of a rule that has a value. */
const given = (rule) => Object.entries(rule).filter(([name, value]) => name !== "id" && value !== null && value !== undefined);

/** Whether a rule is that of a button, for any service. */
function isFault(rule, fault) {
  const wanted = Object.entries(fault.rule);
  const rest = given(rule).filter(([name]) => name !== "service" && name !== "path");
  return rest.length === wanted.length && wanted.every(([name, value]) => rule[name] === value);
}

async function toggleFault(button, fault, service) {
  const on = (state?.rules ?? []).filter((rule) => isFault(rule, fault));
  await busy(button, async () => {
    if (on.length) await Promise.all(on.map((rule) => act("DELETE", instance.control(`/faults/${rule.id}`))));
    else await act("POST", instance.control("/faults"), { ...fault.rule, ...only(service) });
    await read();
  });
}

/** The part of a rule that names a service: its operations, not its pages. */
function only(service) {
  const found = instance.program.services.find((one) => one.name === service);
  if (!found) return {};
  const prefix = found.base_url.replace(found.page.replace(/\/$/, ""), "");
  return { service, ...(prefix ? { path: `${prefix}/**` } : {}) };
}

/** A rule for the next call is used up by it, and removed. The journal also has pages, which the rule is not for. */
function useUp(one) {
  if (one.status !== FAULTS[1].rule.status) return;
  const used = (state?.rules ?? []).filter((rule) => isFault(rule, FAULTS[1]) && (!rule.service || rule.service === one.service)
    && (!rule.path || one.path.startsWith(rule.path.replace("**", ""))));
  if (!used.length) return;
  state.rules = state.rules.filter((rule) => !used.includes(rule));
  draw();
  used.forEach((rule) => call("DELETE", instance.control(`/faults/${rule.id}`)));
}

function describe(rule) {
  const known = FAULTS.find((fault) => isFault(rule, fault));
  const text = known?.text ?? given(rule).map(([name, value]) => `${name.replaceAll("_", " ")} ${typeof value === "object" ? JSON.stringify(value) : value}`).join(", ");
  const service = known && instance.program.services.find((one) => one.name === rule.service);
  return service ? `${text} (${service.title})` : text;
}

function draw() {
  const controls = $("#deck-controls");
  controls.querySelectorAll("button, select").forEach((element) => { element.disabled = state === null; });
  for (const { fault, button } of elements.faults) {
    button.setAttribute("aria-pressed", String(Boolean(state?.rules.some((rule) => isFault(rule, fault)))));
  }
  for (const { mode, button } of elements.modes) button.setAttribute("aria-pressed", String(state?.signIn.mode === mode));
  if (elements.clear) elements.clear.disabled = !state?.rules.length;
  if (elements.freeze) show(elements.freeze, state?.frozen ? "Let it run" : "Freeze");
  drawClock();
  drawState();
}

function now() {
  return state.frozen ? new Date(state.time) : new Date(Date.now() + state.offset);
}

function drawClock() {
  if (elements.time) show(elements.time, state ? moment(now()) + (state.frozen ? ", frozen" : "") : "");
}

/** The band: nothing while all is as usual. */
function drawState() {
  const band = $("#state");
  const parts = [];
  if (state) {
    parts.push(...state.rules.map(describe));
    if (state.frozen) parts.push(`the clock stands still at ${moment(now())}`);
    else if (Math.abs(state.offset) > MOVED) parts.push(`the clock shows ${moment(now())}`);
    if (state.signIn.mode === "off") parts.push("no call needs to sign in");
    if (state.signIn.mode === "any") parts.push("any credentials sign in");
  }
  band.classList.toggle("faults", Boolean(state?.rules.length));
  const text = parts.join("; ");
  const shown = text ? `${instance.title()}: ${text}.` : "";
  if (band.dataset.shown === shown) return;
  band.dataset.shown = shown;
  const normal = h("button", { type: "button", class: "small", onclick: () => busy(normal, backToNormal) }, "Back to normal");
  show(band, text ? [h("p", {}, h("b", {}, instance.title()), `: ${text}.`), normal] : null);
}

async function backToNormal() {
  if (state.rules.length) await act("DELETE", instance.control("/faults"));
  if (state.frozen || Math.abs(state.offset) > MOVED) await act("PATCH", instance.control("/clock"), { time: new Date().toISOString(), frozen: false });
  if (state.signIn.mode !== "enforce") await act("PUT", instance.control("/sign-in"), { ...state.signIn, mode: "enforce" });
  await read();
}
