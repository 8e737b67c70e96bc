// Cards to print: one for each student of a class.

import { $, h, show } from "./ui.js";
import { quoted } from "./wire.js";
import * as instance from "./instance.js";
import { save } from "./journal.js";

/** What the server said when it created a sandbox. The control token is known to this page only, until it is closed. */
const created = new Map();

export const remember = (sandbox) => created.set(sandbox.name, sandbox);

export function startHandout() {
  if (location.hash === "#handout") location.hash = "sandboxes";
}

/** Shows the cards of a class. */
export function printClass(name, members) {
  const withToken = members.filter((one) => created.has(one.name)).length;
  const local = members.length && instance.isLocal(instance.services(members[0].name)[0].page);
  show($("#view-handout"),
    h("div", { class: "row between no-print" },
      h("div", {}, h("h1", { tabindex: -1 }, `Cards of class ${name}`), h("p", { class: "lead" }, withToken ? "The control tokens are not shown again: print or save them now." : "The control tokens were shown when the class was created.")),
      h("div", { class: "row" }, h("a", { class: "button", href: "#sandboxes" }, "Back"),
        h("button", { type: "button", onclick: () => save(`${name}.csv`, "text/csv", csv(members)) }, "Save as CSV"),
        h("button", { type: "button", class: "primary", onclick: () => print() }, "Print"))),
    local ? h("p", { class: "note warn no-print" }, "The links lead to the machine of the server only: students cannot open them on other machines. Set the address of each service in the settings of the server, and start it again.") : null,
    h("div", { class: "cards" }, members.map(card)));
  location.hash = "handout";
}

function card({ name }) {
  const services = instance.services(name);
  const link = services[0].page;
  const token = created.get(name)?.control_token;
  const controls = `${services[0].address}/_control`;
  return h("article", { class: "card student" },
    h("img", { src: `/console/qr?text=${encodeURIComponent(link)}`, alt: `QR code of ${link}`, width: 144, height: 144 }),
    h("div", { class: "stack" },
      h("h2", {}, name),
      h("p", {}, h("a", { href: link }, link)),
      h("dl", {}, services.map((service) => [h("dt", {}, service.title), h("dd", {}, h("code", {}, service.base_url)), h("dd", {}, service.sign_in ?? "")])),
      token ? [
        h("p", {}, "Control token: ", h("code", {}, token)),
        h("p", {}, "To reset the data: ", h("code", {}, `curl -X POST -H ${quoted(`Authorization: Bearer ${token}`)} ${controls}/reset`)),
      ] : null));
}

/** The sandboxes as CSV (RFC 4180), as `triptych class create --csv` writes them. */
function csv(members) {
  const cell = (value) => (/[",\r\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value);
  const header = ["name", "control_token", "control_url", ...instance.program.services.flatMap((one) => [`${one.name}_url`, `${one.name}_docs`])];
  const lines = members.map(({ name }) => {
    const services = instance.services(name);
    return [name, created.get(name)?.control_token ?? "", `${services[0].address}/_control`, ...services.flatMap((one) => [one.base_url, one.docs.replace(/\/$/, "")])];
  });
  return [header, ...lines].map((line) => `${line.map(cell).join(",")}\r\n`).join("");
}
