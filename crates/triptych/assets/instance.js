// The instance that the page shows and controls: the root services, or a sandbox. Parts of the page listen for changes.

import { $, h, show } from "./ui.js";
import { call } from "./operator.js";

const STORE = "instance";

export const program = { demo: false, sandboxes: false, services: [] };
const listeners = [];
let chosen = null;
let names = [];

/** The name of the chosen sandbox; empty for the root services, null if there is nothing to choose. */
export const name = () => chosen;

/** The chosen instance in words. */
export const title = (of = chosen) => of || "Root services";

/** Where the controls of an instance are. */
export const control = (path, of = chosen) => (of ? `/control/sandbox/${of}${path}` : `/control/root${path}`);

/** Calls the listener now, and at each change. */
export function onChange(listener) {
  listeners.push(listener);
  listener(chosen);
}

export function choose(next) {
  if (next === chosen) return;
  chosen = next;
  if (next === null) sessionStorage.removeItem(STORE);
  else sessionStorage.setItem(STORE, next);
  drawOptions();
  listeners.forEach((listener) => listener(chosen));
}

/** Reads what the program is, once. */
export async function start() {
  const answer = await call("GET", "/console/services");
  if (!answer.ok) return answer;
  Object.assign(program, answer.data);
  $("#instance").addEventListener("change", (event) => choose(event.target.value));
  const kept = sessionStorage.getItem(STORE);
  await refresh(kept);
  return answer;
}

async function refresh(kept) {
  const found = await list();
  if (!found) return;
  setNames(found.map((sandbox) => sandbox.name), kept);
}

/** All sandboxes, in the order of their names; null if they cannot be listed now. */
export async function list() {
  if (!program.sandboxes) return [];
  const all = [];
  for (;;) {
    const after = all.length ? `&after=${all.at(-1).name}` : "";
    const answer = await call("GET", `/control/sandboxes?limit=200${after}`);
    if (!answer.ok) return null;
    all.push(...answer.data.sandboxes);
    if (answer.data.sandboxes.length < 200) return all;
  }
}

/** Takes over which sandboxes there are. One that was deleted is not shown any more. */
export function setNames(next, wanted = chosen) {
  const first = program.demo && program.sandboxes ? "" : next[0] ?? null;
  const same = next.join() === names.join();
  names = next;
  const valid = wanted === "" ? first === "" : wanted !== null && next.includes(wanted);
  const target = valid ? wanted : first;
  if (target !== chosen) choose(target);
  else if (!same) drawOptions();
}

function drawOptions() {
  const select = $("#instance");
  const root = program.demo && program.sandboxes ? [h("option", { value: "" }, "Root services")] : [];
  const sandboxes = names.map((one) => h("option", { value: one }, one));
  show(select, root, sandboxes.length ? h("optgroup", { label: "Sandboxes" }, sandboxes) : null);
  if (!root.length && !sandboxes.length) show(select, h("option", { value: "" }, "No sandboxes yet"));
  select.disabled = chosen === null;
  if (chosen !== null) select.value = chosen;
  drawPages();
}

/** The services of an instance: those of a sandbox have its path. */
export function services(of = chosen) {
  const path = of ? `/sandbox/${of}` : "";
  return program.services.map((service) => {
    const address = service.page.replace(/\/$/, "");
    return {
      ...service,
      page: `${address}${path}/`,
      docs: `${address}${path}/docs/`,
      openapi: `${address}${path}/openapi.json`,
      base_url: service.base_url.replace(address, `${address}${path}`),
      address: `${address}${path}`,
    };
  });
}

/** The mark of a service. */
export const mark = (service, size = 24) => h("img", { src: `/console/marks/${service}`, alt: "", width: size, height: size });

/** Links to the pages of an instance. */
export const pageLinks = (of) => services(of).map((service) =>
  h("a", { class: "page-link", href: service.page, target: "_blank", rel: "noopener", title: `${service.title} of ${title(of)}` }, mark(service.name), h("span", {}, service.title)));

function drawPages() {
  show($("#instance-pages"), chosen === null ? null : pageLinks(chosen));
}

/** Whether a link leads to the machine of the reader only. */
export function isLocal(link) {
  const host = new URL(link).hostname;
  return host === "localhost" || host.endsWith(".localhost") || /^127\./.test(host) || host === "[::1]";
}
