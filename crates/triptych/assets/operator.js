// Calls of the admin listener. On this machine a demo needs no token; otherwise each call has the operator's token.

import { dialog, h, toast, explain } from "./ui.js";

const STORE = "operator";

let token = sessionStorage.getItem(STORE) ?? "";
let asking = null;

const headers = () => (token ? { authorization: `Bearer ${token}` } : {});

/** Calls, and gives the answer: status, ok, headers, data (of JSON), text, problem. Without a connection the status is 0. */
export async function call(method, path, json) {
  for (;;) {
    const answer = await send(method, path, json);
    if (answer.status !== 401) return answer;
    await ask(answer);
  }
}

async function send(method, path, json) {
  const body = json === undefined ? undefined : JSON.stringify(json);
  const sent = { accept: "application/json", ...headers(), ...(body === undefined ? {} : { "content-type": "application/json" }) };
  try {
    const response = await fetch(path, { method, headers: sent, body, credentials: "omit" });
    const text = await response.text();
    const type = response.headers.get("content-type") ?? "";
    const data = /[/+]json\b/.test(type) ? JSON.parse(text) : undefined;
    return { status: response.status, ok: response.ok, headers: response.headers, text, data, problem: type.startsWith("application/problem+json") ? data : undefined };
  } catch {
    return { status: 0, ok: false, headers: new Headers(), text: "" };
  }
}

/** Calls, and says what is wrong if the call is refused. Gives whether it was done. */
export async function act(method, path, json) {
  const answer = await call(method, path, json);
  if (!answer.ok) toast(explain(answer), "bad");
  return answer.ok;
}

/** Follows Server-Sent Events until the signal, or until the connection ends. Gives the status of the answer. */
export async function follow(path, signal, receive) {
  let response;
  for (;;) {
    response = await fetch(path, { headers: { accept: "text/event-stream", ...headers() }, signal, credentials: "omit" });
    if (response.status !== 401) break;
    await ask({ problem: await response.json() });
  }
  if (!response.ok) return response.status;
  receive({ name: "open", data: "" });
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return response.status;
    rest += value;
    const blocks = rest.split("\n\n");
    rest = blocks.pop();
    for (const block of blocks) {
      const event = { name: "", data: "" };
      for (const line of block.split("\n")) {
        const [, field, text] = /^(\w*): ?(.*)$/.exec(line) ?? [];
        if (field === "event") event.name = text;
        if (field === "data") event.data += text;
      }
      if (event.data) receive(event);
    }
  }
}

/** Asks for the operator's token. Calls that need it at the same time wait for one answer. */
function ask(answer) {
  asking ??= new Promise((done) => {
    const wrong = token !== "";
    const field = h("input", { id: "operator-token", type: "password", required: true, autocomplete: "off", spellcheck: "false" });
    const form = h("form", { class: "stack", method: "dialog" },
      h("p", { class: wrong ? "note bad" : "note" }, answer.problem?.detail ?? "The console needs the operator's token."),
      h("div", { class: "field" }, h("label", { for: "operator-token" }, "Operator's token"), field,
        h("p", { class: "hint" }, "On the server's machine, ", h("code", {}, "triptych sandbox token"), " prints it. This tab keeps it until it is closed.")),
      h("div", { class: "row" }, h("button", { class: "primary" }, "Use this token")));
    const box = dialog("This console needs a token", form);
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      token = field.value.trim();
      sessionStorage.setItem(STORE, token);
      box.close();
    });
    box.addEventListener("close", () => {
      asking = null;
      done();
    });
    field.focus();
  });
  return asking;
}

/** Calls an action every so many milliseconds while the page is visible, one at a time. Gives a function that calls it now. */
export function repeat(milliseconds, action) {
  let running = false;
  const run = async () => {
    if (running || document.visibilityState !== "visible") return;
    running = true;
    try {
      await action();
    } finally {
      running = false;
    }
  };
  setInterval(run, milliseconds);
  document.addEventListener("visibilitychange", run);
  run();
  return run;
}

/** Asks before something is done that cannot be undone. */
export function confirm(heading, text, label, action) {
  const button = h("button", { type: "button", class: "primary" }, label);
  const box = dialog(heading, h("p", {}, text), h("div", { class: "row" }, button, h("button", { type: "button", onclick: () => box.close() }, "Cancel")));
  button.addEventListener("click", async () => {
    button.disabled = true;
    await action();
    box.close();
  });
  button.focus();
}
