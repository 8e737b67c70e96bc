// The services of the chosen instance: addresses, links, credentials, tokens, charts.

import { $, busy, dialog, explain, h, show, toast } from "./ui.js";
import { copyText, quoted } from "./wire.js";
import { call } from "./operator.js";
import * as instance from "./instance.js";
import { chartsOf } from "./charts.js";

/** A call to try out with a token. */
const SAMPLES = { petstore: "/pet/findByStatus?status=available", train: "/bookings", museum: "/special-events" };

export function startServices() {
  instance.onChange(draw);
}

const external = (href, text) => h("a", { href, target: "_blank", rel: "noopener" }, text);

function draw(name) {
  show($("#services"), instance.services(name ?? "").map(card));
}

function card(service) {
  const facts = [
    service.username ? ["User", `${service.username} / ${service.password}`] : null,
    service.api_key ? ["API key", service.api_key] : null,
    service.client_id ? ["OAuth client", service.client_id] : null,
    service.username ? null : ["Sign in", service.sign_in ?? "accounts of its own"],
  ].filter(Boolean);
  const copy = h("button", { type: "button", class: "plain small", "aria-label": `Copy the address of ${service.title}`, onclick: () => copyText(service.base_url, copy) }, "Copy");
  return h("article", { class: "card service stack", "data-service": service.name },
    h("div", { class: "row name" }, instance.mark(service.name, 36), h("h2", {}, service.title)),
    h("div", { class: "address" }, h("code", {}, service.base_url), copy),
    h("p", { class: "row links" }, external(service.page, "Page"), external(service.docs, "Docs"), external(service.openapi, "OpenAPI")),
    h("dl", { class: "facts small" }, facts.map(([term, text]) => [h("dt", {}, term), h("dd", {}, h("code", {}, text))])),
    access(service),
    chartsOf(service.name));
}

/** One click to a call that works. */
function access(service) {
  const label = service.tokens ? "Get a token" : "Get a command";
  const button = h("button", { type: "button", class: "small get-token", onclick: () => busy(button, () => give(service)) }, label);
  return service.tokens || service.username ? h("div", { class: "row" }, button) : null;
}

async function give(service) {
  const sample = `${service.base_url}${SAMPLES[service.name] ?? ""}`;
  if (!service.tokens) {
    const login = `${service.username}:${service.password}`;
    return showAccess(service, `A command for ${service.title}`, null, `curl -u ${quoted(login)} ${quoted(sample)}`, "It signs in as the user of the demo.");
  }
  if (instance.name()) {
    // The accounts of a sandbox are its own, and so are its tokens.
    const command = `curl -u guest:guest -d grant_type=client_credentials ${quoted(`${service.address}/oauth/token`)}`;
    return showAccess(service, `A token for ${service.title} of ${instance.title()}`, null, command, "This command prints a token of the sandbox.");
  }
  const answer = await call("POST", `/console/tokens/${service.name}`);
  if (!answer.ok) return toast(explain(answer), "bad");
  const { token, user } = answer.data;
  const command = `curl -H ${quoted(`Authorization: Bearer ${token}`)} ${quoted(sample)}`;
  return showAccess(service, `A token for ${service.title}`, token, command, `It acts for the user ${user}, expires after ten minutes, and is shown only now.`);
}

function showAccess(service, heading, token, command, about) {
  const part = (label, text, id) => {
    const copy = h("button", { type: "button", class: "small", onclick: () => copyText(text, copy) }, "Copy");
    return h("div", { class: "field" }, h("div", { class: "row between" }, h("b", { id: `${id}-label` }, label), copy),
      h("pre", { class: "code", id, tabindex: 0, role: "region", "aria-labelledby": `${id}-label` }, text));
  };
  const box = dialog(heading, h("p", { class: "soft" }, about),
    token ? part("Token", token, "given-token") : null, part("As a command", command, "given-command"));
  box.dataset.service = service.name;
}
