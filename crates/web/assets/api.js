// Calls of the public API, as any client makes them. Each is shown on the wire.

import { page } from "./ui.js";
import { record } from "./wire.js";
import * as visitor from "./visitor.js";

/**
 * Calls an operation, and gives its answer: status, ok, headers, data (of JSON), text, blob, problem. A call without a connection has
 * the status 0.
 *
 * path: the path of the operation in the API, such as /pet/7
 * options: query, json or body, headers, accept, auth (false: without credentials; or headers to send instead), root (the path is not one
 * of the API), recorded (false: not on the wire)
 */
export async function call(method, path, options = {}) {
  const { query, json, accept = "application/json", auth = true, root = false, recorded = true } = options;
  const search = query ? `?${new URLSearchParams(Object.entries(query).filter(([, value]) => value !== undefined && value !== ""))}` : "";
  const address = `${root ? page.path : page.api}${path}${search === "?" ? "" : search}`;
  const headers = { accept, ...options.headers };
  if (auth === true) Object.assign(headers, await visitor.credentials());
  else if (auth) Object.assign(headers, auth);
  let body = options.body;
  if (json !== undefined) {
    headers["content-type"] = "application/json";
    body = JSON.stringify(json);
  }
  const request = { method, address, headers, body: await shown(body), sent: Date.now() };
  const started = performance.now();
  const answer = await send(method, address, headers, body);
  answer.ms = performance.now() - started;
  if (recorded) record(request, answer);
  if (answer.status === 401 && auth === true) visitor.refused();
  return answer;
}

async function send(method, address, headers, body) {
  let response;
  try {
    response = await fetch(address, { method, headers, body, credentials: "omit", redirect: "follow" });
  } catch {
    return { status: 0, ok: false, headers: new Headers(), text: "" };
  }
  const type = response.headers.get("content-type") ?? "";
  const answer = { status: response.status, ok: response.ok, headers: response.headers, type, text: "" };
  try {
    if (isText(type)) {
      answer.text = await response.text();
      if (/[/+]json\b/.test(type)) answer.data = JSON.parse(answer.text);
    } else {
      answer.blob = await response.blob();
    }
  } catch {
    // The answer broke off, or is not what it says to be: the page sees what arrived.
    answer.ok = false;
  }
  if (type.startsWith("application/problem+json")) answer.problem = answer.data;
  if (type.startsWith("application/problem+xml")) answer.problem = problemOf(answer.text);
  return answer;
}

/** A problem in XML, as it is in JSON. */
function problemOf(text) {
  const root = new DOMParser().parseFromString(text, "application/xml").documentElement;
  const members = (element) => Object.fromEntries([...element.children].map((child) => [child.localName, child.textContent]));
  const errors = [...root.children].find((child) => child.localName === "errors");
  return { ...members(root), errors: errors && [...errors.children].map(members) };
}

const isText = (type) => type === "" || /^text\/|json|xml|x-www-form-urlencoded/.test(type);

/** A body as a text for the wire. */
async function shown(body) {
  if (body === undefined || body === null) return "";
  if (typeof body === "string") return body;
  if (body instanceof URLSearchParams) return body.toString();
  if (body instanceof Blob) return { file: body.name ?? "file", type: body.type, size: body.size };
  return String(body);
}

