// The sandboxes: a list with what happens in each, new ones, classes, QR codes.

import { $, clearFaults, dialog, h, moment, refuse, show, toast } from "./ui.js";
import { grade } from "./wire.js";
import { act, call, confirm, repeat } from "./operator.js";
import * as instance from "./instance.js";
import { callerOf } from "./journal.js";
import { reset } from "./presenter.js";
import { printClass, remember } from "./handout.js";

const EVERY = 3000;
/** How many sandboxes are created, reset or deleted at the same time. */
const AT_ONCE = 4;

const rows = new Map();
let refresh = () => {};

export function startSandboxes() {
  if (!instance.program.sandboxes) {
    show($("#sandbox-list"), h("p", { class: "empty" }, "Sandboxes are off in the settings of this server."));
    $("#new-sandbox").disabled = $("#new-class").disabled = true;
    return;
  }
  $("#new-sandbox").addEventListener("click", createOne);
  $("#new-class").addEventListener("click", createClass);
  refresh = repeat(EVERY, read);
  document.addEventListener("view", (event) => event.detail === "sandboxes" && refresh());
}

async function read() {
  const found = await instance.list();
  if (!found) return;
  instance.setNames(found.map((one) => one.name));
  if ($("#view-sandboxes").hidden && rows.size) return;
  draw(found);
}

/** The names of the classes, and "" for sandboxes without one. */
function draw(found) {
  const classes = Map.groupBy ? Map.groupBy(found, (one) => one.class ?? "") : grouped(found);
  const place = $("#sandbox-list");
  if (!found.length) {
    rows.clear();
    show(place, h("div", { class: "empty stack" }, h("p", {}, "No sandboxes yet."), h("p", { class: "small" }, "Make one for yourself, or a class with one for each student.")));
    return;
  }
  for (const name of rows.keys()) if (!found.some((one) => one.name === name)) rows.delete(name);
  const names = [...classes.keys()].sort();
  const shape = JSON.stringify(names.map((name) => [name, classes.get(name).map((one) => one.name)]));
  found.forEach((one) => {
    if (!rows.has(one.name)) rows.set(one.name, row(one));
    rows.get(one.name).update(one);
  });
  // The elements stay as long as the list has the same sandboxes, so that the focus stays, too.
  if (place.dataset.shape === shape && place.querySelector(".sandboxes")) return;
  place.dataset.shape = shape;
  show(place, names.map((name) => section(name, classes.get(name))));
}

function grouped(found) {
  const classes = new Map();
  for (const one of found) classes.set(one.class ?? "", [...(classes.get(one.class ?? "") ?? []), one]);
  return classes;
}

function section(name, members) {
  const ids = members.map((one) => one.name);
  const button = (label, action, kind = "") => h("button", { type: "button", class: `small ${kind}`, onclick: action }, label);
  return h("section", { class: "stack class", "data-class": name },
    h("div", { class: "row between" },
      h("h2", {}, name ? `Class ${name}` : "Without a class", " ", h("span", { class: "pill" }, String(members.length))),
      name ? h("div", { class: "row" },
        button("Print cards", () => printClass(name, members)),
        button("Reset all", () => resetAll(name, ids)),
        button("Delete class", () => deleteAll(name, ids), "danger")) : null),
    h("ul", { class: "list card sandboxes" }, members.map((one) => rows.get(one.name).element)));
}

function row(one) {
  const { name } = one;
  const last = h("div", { class: "last-call" });
  const numbers = h("div", { class: "row numbers" });
  const times = h("div", { class: "soft small times" });
  const button = (label, action, kind = "") => h("button", { type: "button", class: `small ${kind}`, "aria-label": `${label} ${name}`, onclick: action }, label);
  const element = h("li", { "data-sandbox": name },
    h("div", { class: "who" }, h("b", { class: "mono" }, name), h("div", { class: "row pages" }, instance.pageLinks(name))),
    h("div", { class: "what" }, last, times),
    numbers,
    h("div", { class: "row actions" },
      button("Control", () => control(name)),
      button("QR code", () => showCode(name)),
      button("Reset", () => reset(name, () => refresh())),
      button("Delete", () => remove(name), "danger")));
  let seen = null;
  const update = (found) => {
    const { calls = 0, errors = 0, last_call: latest } = found.activity ?? {};
    show(last, latest
      ? [instance.mark(latest.service, 18), h("code", { title: latest.path }, h("b", {}, latest.method), ` ${latest.path}`), h("span", { class: `pill ${{ bad: "bad", warn: "warn" }[grade(latest.status ?? 0)] ?? "good"}` }, String(latest.status ?? "no answer"))]
      : h("span", { class: "soft" }, "No calls yet"));
    show(numbers, h("span", { class: "pill" }, calls === 1 ? "1 call" : `${calls} calls`),
      errors ? h("span", { class: "pill bad" }, errors === 1 ? "1 error" : `${errors} errors`) : null);
    show(times, latest ? `${callerOf(latest)}, ` : "", `used ${ago(found.used_at)}, expires `, h("span", { title: moment(found.expires_at) }, ago(found.expires_at)));
    if (seen !== null && latest && latest.number !== seen) {
      element.classList.remove("fresh");
      void element.offsetWidth;
      element.classList.add("fresh");
    }
    seen = latest?.number ?? 0;
  };
  return { element, update };
}

const relative = new Intl.RelativeTimeFormat(undefined, { numeric: "auto" });

/** A moment from now, such as 3 minutes ago. */
function ago(time) {
  const seconds = (new Date(time) - Date.now()) / 1000;
  const [unit, length] = [["second", 1], ["minute", 60], ["hour", 3600], ["day", 86400]].findLast(([, size]) => Math.abs(seconds) >= size) ?? ["second", 1];
  return relative.format(Math.round(seconds / length), unit);
}

function control(name) {
  instance.choose(name);
  location.hash = "overview";
}

function remove(name) {
  confirm(`Delete ${name}?`, "The sandbox is deleted with all its data. This cannot be undone.", "Delete the sandbox", async () => {
    if (await act("DELETE", instance.control("", name))) toast(`${name} was deleted.`);
    await read();
  });
}

/** Does something with many sandboxes, a few at a time. Gives how many it was done with. */
async function each(names, action) {
  let done = 0;
  const left = [...names];
  const work = async () => {
    for (let name = left.shift(); name !== undefined; name = left.shift()) {
      if (await action(name)) done += 1;
      else left.length = 0;
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return done;
}

function resetAll(name, ids) {
  confirm(`Reset class ${name}?`, `The data of ${ids.length} sandboxes becomes what it was at the beginning.`, "Reset all", async () => {
    const done = await each(ids, (one) => act("POST", instance.control("/reset", one)));
    toast(`${done} of ${ids.length} sandboxes were reset.`);
  });
}

function deleteAll(name, ids) {
  confirm(`Delete class ${name}?`, `${ids.length} sandboxes are deleted with all their data. This cannot be undone.`, "Delete the class", async () => {
    const done = await each(ids, (one) => act("DELETE", instance.control("", one)));
    toast(`${done} of ${ids.length} sandboxes were deleted.`);
    await read();
  });
}

const field = (id, label, hint, attributes) => h("div", { class: "field" }, h("label", { for: id }, label), h("input", { id, autocomplete: "off", spellcheck: "false", ...attributes }), h("p", { class: "hint" }, hint));

function createOne() {
  const form = h("form", { class: "stack" },
    field("sandbox-name", "Name", "Lower-case letters, digits and dashes. Without a name, the server chooses one.", { name: "name", maxlength: 32 }),
    h("div", { class: "row" }, h("button", { class: "primary" }, "Create")));
  const box = dialog("New sandbox", form);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    clearFaults(form);
    const name = form.elements.name.value.trim();
    const answer = await call("POST", "/control/sandboxes", name ? { name } : {});
    if (!answer.ok) return refuse(answer, form);
    remember(answer.data);
    box.close();
    await read();
    showCreated(answer.data);
  });
}

/** The control token is shown only once. */
function showCreated(created) {
  dialog(`Sandbox ${created.name}`,
    h("p", {}, "It has its own data, accounts and clock. Its control token is shown only now:"),
    h("pre", { class: "code", tabindex: 0 }, created.control_token),
    h("div", { class: "row pages" }, instance.pageLinks(created.name)));
}

/** The names of a class: monday-01, monday-02 and so on, as `triptych class` makes them. */
const namesOf = (name, students) => Array.from({ length: students }, (_, at) => `${name}-${String(at + 1).padStart(Math.max(2, String(students).length), "0")}`);

function createClass() {
  const progress = h("progress", { max: 1, value: 0, hidden: true, "aria-label": "Sandboxes created" });
  const said = h("p", { class: "soft small", role: "status" });
  const button = h("button", { class: "primary" }, "Create the class");
  const form = h("form", { class: "stack" },
    field("class-name", "Name of the class", "The sandboxes are NAME-01, NAME-02 and so on.", { name: "name", required: true, maxlength: 28, pattern: "[a-z0-9]([a-z0-9\\-]*[a-z0-9])?", title: "Lower-case letters, digits and dashes, without a dash at either end" }),
    field("class-students", "Number of students", "Up to 500.", { name: "students", type: "number", min: 1, max: 500, value: 20, required: true }),
    progress, said, h("div", { class: "row" }, button));
  const box = dialog("New class", form);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    clearFaults(form);
    const name = form.elements.name.value.trim();
    const names = namesOf(name, Number(form.elements.students.value));
    if ((await instance.list())?.some((one) => one.class === name)) {
      return refuse({ status: 409, problem: { errors: [{ pointer: "#/name", detail: "There is a class with this name already. Delete it, or choose another name." }] } }, form);
    }
    button.disabled = true;
    progress.hidden = false;
    progress.max = names.length;
    const created = [];
    await each(names, async (one) => {
      const answer = await call("POST", "/control/sandboxes", { name: one, class: name });
      if (!answer.ok) return refuse(answer, form), false;
      remember(answer.data);
      created.push(answer.data);
      progress.value = created.length;
      show(said, `${created.length} of ${names.length}`);
      return true;
    });
    button.disabled = false;
    await read();
    if (created.length < names.length) return show(said, `${created.length} of ${names.length} sandboxes were created.`);
    box.close();
    toast(`The class ${name} has ${names.length} sandboxes. Print the cards now: they have the control tokens, which are not shown again.`);
    return undefined;
  });
}

/** The QR code of a page, large enough for a room. */
function showCode(name) {
  const image = h("img", { class: "code-image" });
  const link = h("a", { class: "code-link", target: "_blank", rel: "noopener" });
  const note = h("p", { class: "note warn" }, "This link leads to the machine of the server only. Set the addresses of the services in the settings, so that others can open it.");
  const buttons = instance.services(name).map((service) => {
    const button = h("button", { type: "button", "aria-pressed": "false", onclick: () => choose(service, button) }, service.title);
    return button;
  });
  const choose = (service, button) => {
    buttons.forEach((one) => one.setAttribute("aria-pressed", String(one === button)));
    image.src = `/console/qr?text=${encodeURIComponent(service.page)}`;
    image.alt = `QR code of ${service.page}`;
    link.href = service.page;
    show(link, service.page.replace(/^https?:\/\//, ""));
    note.hidden = !instance.isLocal(service.page);
  };
  const box = dialog(name, h("div", { class: "choice" }, buttons), image, link, note);
  box.classList.add("room");
  choose(instance.services(name)[0], buttons[0]);
}
