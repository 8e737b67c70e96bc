// The wire: each HTTP call that the page made, with its answer.

import { $, h, page, show } from "./ui.js";

const KEPT = 30;
const LONGEST = 20_000;
const STORE = `wire:${page.path}`;
const calls = restore();

/** A request without the passwords in it: neither a screen nor the storage of the browser shows them. */
function withoutPasswords(request) {
  const body = typeof request.body === "string" ? request.body.replaceAll(/("password":\s*")(?:[^"\\]|\\.)*"/g, '$1…"') : request.body;
  return { ...request, address: request.address.replace(/([?&]password=)[^&]*/, "$1…"), body };
}

/** Adds a call and its answer. */
export function record(request, answer) {
  const call = {
    request: withoutPasswords(request),
    answer: {
      status: answer.status,
      ms: Math.round(answer.ms),
      headers: [...answer.headers],
      text: answer.text.slice(0, LONGEST),
      cut: answer.text.length > LONGEST,
      file: answer.blob ? { type: answer.type, size: answer.blob.size } : null,
      problem: answer.problem ?? null,
    },
  };
  calls.unshift(call);
  calls.length = Math.min(calls.length, KEPT);
  keep();
  draw(call);
}

function restore() {
  try {
    return JSON.parse(sessionStorage.getItem(STORE)) ?? [];
  } catch {
    return [];
  }
}

function keep() {
  try {
    sessionStorage.setItem(STORE, JSON.stringify(calls));
  } catch {
    // The storage is full: the calls stay in this page.
    sessionStorage.removeItem(STORE);
  }
}

const list = $("#wire-calls");
const wire = $("#wire");
const opener = $("#wire-open");

function draw(newest) {
  if (!list) return;
  if (newest && list.querySelector(".call")) {
    // The newest call is open until the next one, unless the visitor has opened others.
    list.querySelectorAll(".newest").forEach((last) => {
      last.classList.remove("newest");
      last.open = false;
    });
    list.prepend(element(newest, !list.querySelector(".call[open]")));
    list.querySelectorAll(".call").forEach((old, at) => at >= KEPT && old.remove());
  } else {
    show(list, calls.length ? calls.map((call, at) => element(call, at === 0))
      : h("p", { class: "quiet" }, "Each call that this page makes appears here: what was sent, and what came back."));
  }
  const last = calls[0];
  show($("#wire-last"), last ? `${last.answer.status || "failed"} ${last.request.method} ${last.request.address}` : "no calls yet");
}

export const grade = (status) => (status === 0 || status >= 500 ? "bad" : status >= 400 ? "warn" : "");

function element(call, open) {
  const { request, answer } = call;
  const details = h("details", { open, class: open ? "call newest" : "call" },
    h("summary", {},
      h("span", { class: "method" }, request.method),
      h("span", { class: "path", title: request.address }, request.address),
      h("span", { class: `code ${grade(answer.status)}` }, String(answer.status || "failed")),
      h("span", { class: "ms" }, `${answer.ms} ms`)));
  // The content is made when it is first shown.
  const build = () => {
    if (details.open && details.children.length === 1) details.append(full(call));
  };
  details.addEventListener("toggle", build);
  details.querySelector("summary").addEventListener("click", () => details.classList.remove("newest"));
  build();
  return details;
}

function full({ request, answer }) {
  const copy = h("button", { type: "button", class: "right", onclick: () => copyText(curl(request), copy) }, "Copy as curl");
  return h("div", { class: "full" },
    answer.problem || answer.status === 0 ? why(answer) : null,
    h("section", { class: "stack" },
      h("h3", {}, "Request", copy),
      h("pre", { tabindex: 0 }, h("span", { class: "head" }, h("b", {}, `${request.method} ${request.address}`), "\n", lines(Object.entries(request.headers), true)),
        bodyOf(request.body, request.headers["content-type"]))),
    h("section", { class: "stack" },
      h("h3", {}, "Answer"),
      h("pre", { tabindex: 0 }, h("span", { class: "head" }, h("b", {}, String(answer.status || "no answer")), "\n",
        lines(answer.headers.filter(([name]) => !COMMON.test(name)), false)), common(answer.headers),
        answer.file ? `\n${answer.file.type || "a file"}, ${size(answer.file.size)}` : bodyOf(answer.text, header(answer.headers, "content-type")),
        answer.cut ? "\n… the rest is not shown" : null)));
}

function why(answer) {
  const problem = answer.problem;
  if (!problem) return h("div", { class: "why" }, h("b", {}, "No answer"), h("span", {}, "The connection failed before an answer arrived."));
  return h("div", { class: "why" },
    h("b", {}, problem.title ?? "Refused"),
    h("span", {}, problem.detail ?? ""),
    problem.errors?.length ? h("ul", {}, problem.errors.map((error) => h("li", {}, h("code", {}, error.pointer ?? error.parameter ?? ""), " ", error.detail))) : null,
    problem.type ? h("a", { href: problem.type }, "What to do about it") : null);
}

/** Headers that every answer has, and that say little to a reader. */
const COMMON = /^(access-control-.*|content-length|date|server|vary|x-content-type-options)$/;

function common(headers) {
  const found = headers.filter(([name]) => COMMON.test(name));
  if (!found.length) return null;
  return h("details", { class: "more" }, h("summary", {}, `${found.length} more headers`), h("span", { class: "head" }, lines(found, false)));
}

export const header = (headers, name) => headers.find(([key]) => key === name)?.[1] ?? "";

function lines(headers, secret) {
  return headers.map(([name, value]) => [h("b", {}, name), `: ${secret && name === "authorization" ? shortened(value) : value}\n`]);
}

/** A token is long and says nothing to a reader; the copy as curl has all of it. */
function shortened(value) {
  const [scheme, secret = ""] = value.split(" ");
  return secret.length > 24 ? `${scheme} ${secret.slice(0, 10)}…${secret.slice(-6)}` : value;
}

export function bodyOf(body, type = "") {
  if (!body) return null;
  if (typeof body === "object") return `\n${body.type || "file"} ${body.file}, ${size(body.size)}`;
  if (/json/.test(type)) {
    try {
      return ["\n", coloured(JSON.stringify(JSON.parse(body), null, 2))];
    } catch {
      // Not JSON after all, or cut off: shown as it is.
    }
  }
  if (/xml/.test(type)) return `\n${indented(body)}`;
  return `\n${body}`;
}

/** JSON with its names, texts and numbers in colours. */
function coloured(json) {
  const parts = [];
  const token = /("(?:[^"\\]|\\.)*")(\s*:)?|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/g;
  let end = 0;
  for (const found of json.matchAll(token)) {
    parts.push(json.slice(end, found.index));
    const kind = found[2] ? "k" : found[1] ? "s" : "n";
    parts.push(h("span", { class: kind }, found[1] ?? found[0]), found[2] ?? "");
    end = found.index + found[0].length;
  }
  return [...parts, json.slice(end)];
}

/** XML with each element on a line of its own. */
function indented(xml) {
  let depth = 0;
  return xml.replaceAll(/>\s*</g, ">\n<").split("\n").map((line) => {
    if (/^<\//.test(line)) depth -= 1;
    const indent = "  ".repeat(Math.max(depth, 0));
    if (/^<[^!?/][^>]*[^/]>$|^<[^!?/]>$/.test(line)) depth += 1;
    return indent + line;
  }).join("\n");
}

export function size(bytes) {
  if (bytes < 1024) return `${bytes} bytes`;
  return bytes < 1024 * 1024 ? `${(bytes / 1024).toFixed(1)} KiB` : `${(bytes / 1024 / 1024).toFixed(1)} MiB`;
}

export const quoted = (text) => `'${text.replaceAll("'", `'\\''`)}'`;

/** The same call as a command. */
function curl({ method, address, headers, body }) {
  const parts = [`curl -X ${method} ${quoted(new URL(address, location.href).href)}`];
  for (const [name, value] of Object.entries(headers)) parts.push(`-H ${quoted(`${name}: ${value}`)}`);
  if (body && typeof body === "object") parts.push(`--data-binary ${quoted(`@${body.file}`)}`);
  else if (body) parts.push(`--data-raw ${quoted(body)}`);
  return parts.join(" \\\n  ");
}

/** Copies a text; the button says so for a moment. */
export async function copyText(text, button) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // Without https a browser has no clipboard for scripts.
    const field = h("textarea", { class: "visually-hidden" }, text);
    // Beside the button: behind an open dialog nothing can be selected.
    button.after(field);
    field.select();
    document.execCommand("copy");
    field.remove();
  }
  const label = button.textContent;
  if (label === "Copied") return;
  show(button, "Copied");
  setTimeout(() => show(button, label), 1500);
}

function open(shown) {
  wire.classList.toggle("open", shown);
  opener.setAttribute("aria-expanded", String(shown));
  (shown ? $("#wire-close") : opener).focus();
}

if (list) {
  draw();
  opener.addEventListener("click", () => open(!wire.classList.contains("open")));
  $("#wire-close").addEventListener("click", () => open(false));
  $("#wire-clear").addEventListener("click", () => {
    calls.length = 0;
    keep();
    draw();
  });
  wire.addEventListener("keydown", (event) => event.key === "Escape" && wire.classList.contains("open") && open(false));
}
