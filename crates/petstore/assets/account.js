// The store's own users and sessions.

import { $, busy, dialog, h, moment, page, refuse, show, toast } from "./ui.js";
import { call } from "./api.js";

const STORE = `session:${page.path}`;
const PROFILE = [["firstName", "First name", "given-name"], ["lastName", "Last name", "family-name"], ["email", "E-mail", "email"], ["phone", "Phone", "tel"]];

const place = $("#account");

function session() {
  try {
    return JSON.parse(sessionStorage.getItem(STORE));
  } catch {
    return null;
  }
}

const bearer = () => ({ authorization: `Bearer ${session()?.token}` });
const userPath = (name = session().username) => `/user/${encodeURIComponent(name)}`;

const field = (prefix, name, label, attributes = {}, hint = null) => h("div", { class: "field" },
  h("label", { for: `${prefix}-${name}` }, label), h("input", { id: `${prefix}-${name}`, name, ...attributes }), hint ? h("p", { class: "hint" }, hint) : null);

const profileFields = (prefix, user = {}) => h("div", { class: "pair" }, PROFILE.map(([name, label, autocomplete]) => field(prefix, name, label, { autocomplete, value: user[name] ?? "" })));

/** The members of a user that are not empty. */
const read = (form) => Object.fromEntries([...new FormData(form)].filter(([, value]) => value !== ""));

/** A form whose action gets its button. */
function form(button, action, ...children) {
  const element = h("form", { class: "stack", novalidate: true }, children, h("div", { class: "row" }, button));
  element.addEventListener("submit", (event) => {
    event.preventDefault();
    busy(button, () => action(element));
  });
  return element;
}

/** Errors of a list are about its only user; those of a query are about the field of the same name. */
const atFields = (answer) => (answer.problem?.errors
  ? { ...answer, problem: { ...answer.problem, errors: answer.problem.errors.map((error) => ({ ...error, pointer: error.pointer.replace(/^#\/0\//, "#/").replace(/^\?/, "#/") })) } }
  : answer);

async function logIn(username, password, at) {
  const answer = await call("GET", "/user/login", { query: { username, password }, auth: false });
  if (!answer.ok) return refuse(atFields(answer), at);
  sessionStorage.setItem(STORE, JSON.stringify({ username, token: answer.data, expires: answer.headers.get("x-expires-after"), limit: answer.headers.get("x-rate-limit") }));
  await draw();
  $("h2", place)?.focus();
}

function logInCard() {
  const element = form(h("button", { class: "primary" }, "Log in"), (at) => logIn(at.elements.username.value, at.elements.password.value, at),
    field("in", "username", "Username", { autocomplete: "username" }),
    field("in", "password", "Password", { type: "password", autocomplete: "current-password" }));
  return h("section", { class: "card stack", "aria-labelledby": "in-heading" }, h("h2", { id: "in-heading" }, "Log in"),
    page.demo === undefined ? null : h("p", { class: "note" }, "This is a demo: the user ", h("code", {}, "demo"), " has the password ", h("code", {}, "demo"), "."), element);
}

function signUpCard() {
  const element = form(h("button", { class: "primary" }, "Sign up"), async (at) => {
    const user = read(at);
    const answer = await call("POST", "/user/createWithList", { json: [user], auth: false });
    if (!answer.ok) return refuse(atFields(answer), at);
    toast(`The user ${answer.data.username} is created.`);
    await logIn(user.username, user.password ?? "", at);
  },
  field("up", "username", "Username", { autocomplete: "username" }),
  field("up", "password", "Password", { type: "password", autocomplete: "new-password" }),
  profileFields("up"));
  return h("section", { class: "card stack", "aria-labelledby": "up-heading" }, h("h2", { id: "up-heading" }, "Sign up"), element);
}

function end(message) {
  sessionStorage.removeItem(STORE);
  toast(message);
  draw();
}

/** Runs a call with the session; a session that has ended is forgotten. */
async function withSession(method, path, options, at) {
  const answer = await call(method, path, { ...options, auth: bearer() });
  if (answer.ok) return answer;
  if (answer.status === 401) end("The session has ended.");
  refuse(answer, at);
  return null;
}

async function logOut() {
  await call("GET", "/user/logout", { auth: bearer() });
  end("You are logged out.");
}

function askToDelete(username) {
  const yes = h("button", { type: "button", class: "danger", onclick: () => busy(yes, async () => {
    box.close();
    if (await withSession("DELETE", userPath())) end(`The user ${username} is deleted.`);
  }) }, "Delete the account");
  const box = dialog("Delete this account?", h("p", {}, `The user ${username} and all its sessions are deleted.`),
    h("div", { class: "row" }, yes, h("button", { type: "button", onclick: () => box.close() }, "Keep it")));
}

function profileCards(user) {
  const { username, expires, limit } = session();
  const save = form(h("button", { class: "primary" }, "Save"), async (at) => {
    const changes = Object.fromEntries(PROFILE.map(([name]) => [name, at.elements[name].value]));
    if (at.elements.password.value) changes.password = at.elements.password.value;
    if (!await withSession("PUT", userPath(), { json: changes }, at)) return;
    toast("Saved.");
    await draw();
  }, profileFields("me", user), field("me", "password", "New password", { type: "password", autocomplete: "new-password" }, "Leave it empty to keep the old one."));
  const out = h("button", { type: "button", onclick: () => busy(out, logOut) }, "Log out");
  return h("div", { class: "split" },
    h("section", { class: "card stack", "aria-labelledby": "me-heading" }, h("h2", { id: "me-heading", tabindex: -1 }, `Profile of ${username}`), save),
    h("section", { class: "card stack", "aria-labelledby": "session-heading" }, h("h2", { id: "session-heading" }, "Session"),
      h("dl", { class: "facts" },
        h("dt", {}, "User"), h("dd", {}, `${username}, id ${user.id}`),
        expires ? [h("dt", {}, "Ends"), h("dd", {}, moment(expires))] : null,
        limit ? [h("dt", {}, "Calls an hour"), h("dd", {}, Number(limit).toLocaleString())] : null),
      h("p", { class: "small soft" }, "The store sent these in the headers X-Expires-After and X-Rate-Limit."),
      h("div", { class: "row" }, out, h("button", { type: "button", class: "danger", onclick: () => askToDelete(username) }, "Delete account"))));
}

async function draw() {
  if (session()) {
    const answer = await call("GET", userPath(), { auth: false });
    if (answer.ok) return show(place, profileCards(answer.data));
    if (answer.status !== 404) return refuse(answer);
    sessionStorage.removeItem(STORE);
  }
  show(place, h("div", { class: "split even" }, logInCard(), signUpCard()));
}

draw();
