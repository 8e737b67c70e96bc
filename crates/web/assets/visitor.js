// The visitor: who is signed in, and the credentials of calls.
//
// With OAuth the page is a public client that uses the code flow with PKCE. In a demo, a visitor who has not signed in calls with a token of
// the client "guest", whose secret is public. With Basic, a demo begins with the demo's own user.

import { $, dialog, h, page, show, toast } from "./ui.js";
import { record } from "./wire.js";
import { sha256 } from "./sha256.js";

const STORE = `visitor:${page.path}`;
const PENDING = `sign-in:${page.path}`;
/** A token is renewed this long before it expires. */
const MARGIN = 30_000;

let state = read(STORE);
let pending = null;

function read(key) {
  try {
    return JSON.parse(sessionStorage.getItem(key)) ?? {};
  } catch {
    return {};
  }
}

function write(next) {
  state = next;
  sessionStorage.setItem(STORE, JSON.stringify(state));
  draw();
}

/** The name of the signed-in user; undefined for a guest. */
export const name = () => state.name;

/** Whether calls have credentials of any kind. */
export const known = () => Boolean(state.name || page.demo !== undefined);

/** The headers of a call. */
export async function credentials() {
  if (page.signIn === "basic") return basic();
  pending ??= token().finally(() => { pending = null; });
  const current = await pending;
  return current ? { authorization: `Bearer ${current}` } : {};
}

function basic() {
  if (!state.name && page.demo !== undefined) write({ name: "demo", password: "demo" });
  if (!state.name) return {};
  const bytes = new TextEncoder().encode(`${state.name}:${state.password}`);
  return { authorization: `Basic ${btoa(String.fromCharCode(...bytes))}` };
}

async function token() {
  if (state.token && (!state.expires || state.expires - MARGIN > Date.now())) return state.token;
  if (state.refresh) {
    const renewed = await redeem({ grant_type: "refresh_token", refresh_token: state.refresh, client_id: page.client });
    if (renewed) {
      write({ ...state, ...renewed, name: state.name });
      return state.token;
    }
    write({});
    toast("You were signed out: the session has ended.");
  }
  if (page.guest === undefined) return null;
  const guest = await redeem({ grant_type: "client_credentials" }, { authorization: `Basic ${btoa(`${page.guest}:${page.guest}`)}` });
  if (!guest) return null;
  write(guest);
  return state.token;
}

/** Exchanges something for a token. */
async function redeem(fields, more = {}) {
  const body = new URLSearchParams(fields).toString();
  const headers = { accept: "application/json", "content-type": "application/x-www-form-urlencoded", ...more };
  const address = `${page.path}/oauth/token`;
  const request = { method: "POST", address, headers, body, sent: Date.now() };
  const started = performance.now();
  let answer = { status: 0, headers: new Headers(), text: "" };
  try {
    const response = await fetch(address, { method: "POST", headers, body, credentials: "omit" });
    answer = { status: response.status, headers: response.headers, text: await response.text() };
    if (response.headers.get("content-type")?.startsWith("application/problem+json")) answer.problem = JSON.parse(answer.text);
  } catch {
    // Recorded as a call without an answer.
  }
  record(request, { ...answer, ms: performance.now() - started });
  if (answer.status !== 200) return null;
  const found = JSON.parse(answer.text);
  return { token: found.access_token, refresh: found.refresh_token, expires: Date.now() + found.expires_in * 1000, name: found.username };
}

/** Called when the service did not accept the credentials. */
export function refused() {
  if (state.refresh) write({ ...state, token: undefined });
  else write({});
}

/** Leaves for the sign-in page, which leads back to this page, or asks for a name and a password. */
export async function signIn(back = location.href) {
  if (page.signIn === "basic") return askForPassword();
  if (page.client === undefined) return askForToken();
  const verifier = random();
  const check = random();
  sessionStorage.setItem(PENDING, JSON.stringify({ verifier, check, back }));
  const query = new URLSearchParams({
    response_type: "code",
    client_id: page.client,
    redirect_uri: `${page.address}/app/signed-in`,
    scope: page.scopes,
    state: check,
    code_challenge: base64url(await sha256(verifier)),
    code_challenge_method: "S256",
  });
  location.assign(`${page.address}/oauth/authorize?${query}`);
}

/** Continues after the sign-in page: exchanges the code, and goes back. Gives what went wrong, if something did. */
export async function finishSignIn() {
  const answer = new URLSearchParams(location.search);
  const { verifier, check, back } = read(PENDING);
  sessionStorage.removeItem(PENDING);
  if (!check || answer.get("state") !== check) return "This sign-in was not started on this page, or is already finished.";
  if (answer.has("error")) return answer.get("error_description") ?? answer.get("error");
  const found = await redeem({
    grant_type: "authorization_code",
    code: answer.get("code") ?? "",
    redirect_uri: `${page.address}/app/signed-in`,
    client_id: page.client,
    code_verifier: verifier,
  });
  if (!found) return "The service did not accept the code of the sign-in. It may have expired.";
  write(found);
  location.replace(back?.startsWith(`${location.origin}/`) ? back : `${page.path}/`);
  return null;
}

/** Ends the access of this page, and leaves for the page that ends the session of the browser. */
export async function signOut() {
  const { refresh } = state;
  write({});
  if (page.signIn === "basic") return location.reload();
  if (refresh) {
    const body = new URLSearchParams({ token: refresh, client_id: page.client });
    await fetch(`${page.path}/oauth/revoke`, { method: "POST", body, credentials: "omit" }).catch(() => {});
  }
  if (page.client === undefined) location.reload();
  else location.assign(`${page.address}/oauth/sign-out`);
}

function askForPassword() {
  const form = h("form", { class: "stack" },
    page.demo === undefined ? null : h("p", { class: "note" }, "This is a demo: the user demo has the password demo."),
    h("div", { class: "field" }, h("label", { for: "visitor-name" }, "Name"), h("input", { id: "visitor-name", name: "name", autocomplete: "username", required: true })),
    h("div", { class: "field" }, h("label", { for: "visitor-password" }, "Password"), h("input", { id: "visitor-password", name: "password", type: "password", autocomplete: "current-password", required: true })),
    h("button", { class: "primary" }, "Sign in"));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    write({ name: form.elements.name.value, password: form.elements.password.value });
    location.reload();
  });
  dialog("Sign in", form);
}

/** With an external issuer the page has no client there: the visitor brings a token. */
function askForToken() {
  const form = h("form", { class: "stack" },
    h("p", {}, "Another server issues the tokens of this service. Get one there, and paste it here."),
    h("div", { class: "field" }, h("label", { for: "visitor-token" }, "Access token"), h("textarea", { id: "visitor-token", name: "token", rows: 4, required: true })),
    h("button", { class: "primary" }, "Use this token"));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    write({ token: form.elements.token.value.trim(), name: "you" });
    location.reload();
  });
  dialog("Sign in", form);
}

function random() {
  return base64url(crypto.getRandomValues(new Uint8Array(32)));
}

function base64url(bytes) {
  return btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

function draw() {
  const place = $("#visitor");
  if (!place) return;
  const button = (text, action) => h("button", { type: "button", class: "small", onclick: () => action() }, text);
  show(place, state.name
    ? [h("span", {}, h("span", { class: "words" }, "Signed in as "), h("b", {}, state.name)), page.signIn === "basic" ? button("Change", signIn) : button("Sign out", signOut)]
    : [page.demo === undefined ? null : h("span", {}, "Guest"), button("Sign in", signIn)]);
}

draw();
