// One ticket, with its QR code for the door.

import { $, busy, explain, h, moment, page, show, toast } from "./ui.js";
import { call } from "./api.js";
import { longDay } from "./days.js";
import { askedId, dayHere, hoursFrom, museumTime, showRefusal } from "./museum.js";
import { ticketOf } from "./kept.js";

const PKPASS = "application/vnd.apple.pkpass";
const id = await askedId("/app/tickets");
const path = `/tickets/${encodeURIComponent(id)}`;
const place = $("#ticket");
const [time, answer] = await Promise.all([museumTime(), call("GET", `${path}/admissions`)]);
if (answer.ok) await draw(answer.data);
else showRefusal(place, answer, "This ticket is not yours, or does not exist", "h1");

async function draw(ticket) {
  document.title = `${ticket.eventName} · Museum`;
  const date = ticket.ticketDate;
  const kept = ticketOf(ticket.ticketId);
  const [image, { open }] = await Promise.all([call("GET", `${path}/qr`, { accept: "image/png" }), hoursFrom(date, 1)]);
  const hours = open.get(date);
  const fact = (name, value, css) => (value ? h("div", {}, h("dt", {}, name), h("dd", { class: css }, value)) : null);
  show(place, h("div", { class: "stack-lg" },
    h("article", { class: "ticket", "aria-labelledby": "ticket-name" },
      h("div", { class: "body" },
        h("p", { class: "kind" }, h("img", { src: `${page.path}/favicon.svg`, alt: "", width: 28, height: 28 }), kept?.ticketType === "event" || ticket.eventName !== "General admission" ? "Special event" : "Museum"),
        h("h1", { id: "ticket-name" }, ticket.eventName),
        h("p", { class: "when" }, longDay(date)),
        h("dl", {},
          fact("Open", hours ? `${hours.timeOpen} – ${hours.timeClose}` : null),
          fact("Place", kept?.location),
          fact("Admits", "One person"),
          fact("Code", kept?.confirmationCode, "mono"),
          fact("Ticket", ticket.ticketId, "mono")),
        h("p", {}, state(ticket))),
      h("div", { class: "stub" },
        image.ok ? h("img", { class: "qr", id: "qr", alt: "QR code of this ticket, for the door", src: URL.createObjectURL(image.blob) }) : h("p", {}, explain(image)),
        h("p", { class: "small" }, "Show this at the door"))),
    h("div", { class: "row no-print" }, wallet(),
      h("button", { type: "button", onclick: () => print() }, "Print"),
      h("a", { class: "button", href: `${page.path}/app/check?id=${encodeURIComponent(ticket.ticketId)}` }, "Check it at the door"))));
}

function state(ticket) {
  const [admission] = ticket.admissions;
  const today = time?.date ?? dayHere();
  if (admission) return h("span", { class: "pill" }, `Used ${moment(admission.admittedAt)}`);
  if (ticket.ticketDate < today) return h("span", { class: "pill warn" }, "Expired");
  return h("span", { class: "pill good" }, ticket.ticketDate === today ? "Valid today" : "Valid on its day");
}

/** Saves the pass: a phone opens it, another device keeps the file. */
function wallet() {
  const button = h("button", { type: "button", class: "primary", onclick: () => busy(button, async () => {
    const pass = await call("GET", `${path}/pkpass`, { accept: PKPASS });
    if (!pass.ok || !pass.blob) return toast(pass.status === 406 ? "This museum has no certificate for passes." : explain(pass), "bad");
    const address = URL.createObjectURL(pass.blob);
    const link = h("a", { href: address, download: "ticket.pkpass" });
    link.click();
    setTimeout(() => URL.revokeObjectURL(address), 60_000);
    if (page.demo !== undefined) toast("The pass was saved. A demo signs it with a certificate that phones do not accept.");
  }) }, "Add to Apple Wallet");
  return button;
}
