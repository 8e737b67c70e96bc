// The door: reads the code of a ticket, and admits it.

import { $, busy, explain, h, moment, show, toast } from "./ui.js";
import { call } from "./api.js";
import { known, signIn } from "./visitor.js";
import { asked } from "./museum.js";
import { longDay } from "./days.js";
import { textIn, ticketIn } from "./code.js";

const verdict = $("#verdict");
const typed = $("#typed");
/** How often a picture of the camera is read, in milliseconds. */
const PAUSE = 150;
let stream = null;

/** What is on the screen: a large word in a colour, the ticket, and what comes next. */
function judge(kind, word, lines, actions) {
  stopCamera();
  $("#ways").hidden = true;
  show(verdict, h("div", { class: `verdict ${kind}` },
    h("p", { class: "sign", "aria-hidden": "true" }, { good: "✓", warn: "!", bad: "✕", plain: "?" }[kind]),
    h("h2", {}, word), lines.map((line) => (line ? h("p", {}, line) : null)),
    h("div", { class: "actions" }, actions ?? next())));
  verdict.scrollIntoView({ block: "nearest" });
  verdict.querySelector("button").focus();
}

function next() {
  return h("button", { type: "button", class: "large", onclick: ready }, "Next ticket");
}

function ready() {
  show(verdict);
  $("#ways").hidden = false;
  typed.elements.code.value = "";
  if (wasScanning) startCamera();
  else typed.elements.code.focus();
}

const pathOf = (ticket) => `/tickets/${encodeURIComponent(ticket.id)}/admissions`;
const queryOf = (ticket) => ({ query: { code: ticket.code } });

/** Admits a ticket, and says what came of it. */
async function admit(ticket) {
  const answer = await call("POST", pathOf(ticket), queryOf(ticket));
  if (answer.status === 404) return judge("bad", "Unknown ticket", [answer.problem?.detail]);
  const kind = answer.problem?.type?.replace(/.*\//, "");
  if (!answer.ok && kind !== "already-used" && kind !== "not-today") return refused(answer);
  const found = await call("GET", pathOf(ticket), queryOf(ticket));
  const { eventName, ticketDate, admissions } = found.data ?? {};
  const when = admissions?.[0] ? moment(admissions[0].admittedAt) : null;
  const day = ticketDate ? longDay(ticketDate) : null;
  if (answer.ok) return judge("good", "Admitted", [eventName, day, when ? `at ${when}` : null]);
  if (kind === "already-used") return judge("bad", "Already used", [when ? `Admitted ${when}` : answer.problem.detail, eventName, day]);
  return judge("warn", "Not today", [day ? `For ${day}` : null, eventName, answer.problem.detail]);
}

function refused(answer) {
  if (answer.status !== 401) return judge("bad", "Not checked", [explain(answer)]);
  judge("plain", "Sign in first", ["Only accounts of the museum check tickets."],
    h("button", { type: "button", class: "large", onclick: () => signIn() }, "Sign in"));
}

/** Shows a ticket whose link was opened. It is admitted only when the person at the door says so. */
async function preview(ticket) {
  if (!known()) return refused({ status: 401 });
  const found = await call("GET", pathOf(ticket), queryOf(ticket));
  if (found.status === 404) return judge("bad", "Unknown ticket", [found.problem?.detail]);
  if (!found.ok) return refused(found);
  const { eventName, ticketDate, admissions } = found.data;
  const [admission] = admissions;
  if (admission) return judge("bad", "Already used", [`Admitted ${moment(admission.admittedAt)}`, eventName, longDay(ticketDate)]);
  const button = h("button", { type: "button", class: "primary large", id: "admit", onclick: () => busy(button, () => admit(ticket)) }, "Admit");
  judge("plain", "Not used yet", [eventName, longDay(ticketDate)], [button, next()]);
}

async function admitText(text) {
  const ticket = ticketIn(text);
  if (ticket) await admit(ticket);
  else judge("bad", "Not a ticket", ["The code is not that of a ticket of this museum."]);
}

async function admitPicture(file) {
  if (!file?.type.startsWith("image/")) return toast("This is not a picture.", "bad");
  let picture;
  try {
    picture = await createImageBitmap(file);
  } catch {
    return toast("This picture cannot be read.", "bad");
  }
  const text = await textIn(picture, picture.width, picture.height);
  picture.close();
  if (text === null) return judge("warn", "No code found", ["Take the picture straight from the front, with light, and with the white border."]);
  await admitText(text);
}

// The camera. A browser has one for pages on https and on this machine only.
const start = $("#camera-start");
const video = $("#video");
let wasScanning = false;
/** The code that was read last: it is not read again before it has left the picture. */
let inSight = null;
/** As many pictures without it. */
const GONE = 6;
start.hidden = !navigator.mediaDevices?.getUserMedia;

async function startCamera() {
  try {
    stream = await navigator.mediaDevices.getUserMedia({ video: { facingMode: "environment", width: { ideal: 1280 } } });
  } catch {
    wasScanning = false;
    return toast("The camera cannot be used: there is none, or the browser does not allow it.", "bad");
  }
  wasScanning = true;
  video.srcObject = stream;
  await video.play();
  $("#camera").hidden = false;
  start.hidden = true;
  const current = stream;
  let without = 0;
  while (stream === current) {
    const text = await textIn(video, video.videoWidth, video.videoHeight);
    if (stream !== current) return;
    if (text !== null && text !== inSight) {
      inSight = text;
      return admitText(text);
    }
    without = text === null ? without + 1 : 0;
    if (without === GONE) inSight = null;
    await new Promise((later) => setTimeout(later, PAUSE));
  }
}

function stopCamera() {
  stream?.getTracks().forEach((track) => track.stop());
  stream = null;
  video.srcObject = null;
  $("#camera").hidden = true;
  start.hidden = !navigator.mediaDevices?.getUserMedia;
}

start.addEventListener("click", () => busy(start, startCamera));
$("#camera-stop").addEventListener("click", () => {
  wasScanning = false;
  stopCamera();
  start.focus();
});
addEventListener("pagehide", stopCamera);

// Pictures: chosen, dropped, pasted.
const drop = $("#drop");
$("#image").addEventListener("change", async (event) => {
  await admitPicture(event.target.files[0]);
  event.target.value = "";
});
for (const kind of ["dragover", "dragleave", "drop"]) {
  addEventListener(kind, (event) => {
    event.preventDefault();
    drop.classList.toggle("over", kind === "dragover");
    if (kind === "drop" && !$("#ways").hidden && event.dataTransfer.files.length) admitPicture(event.dataTransfer.files[0]);
  });
}
addEventListener("paste", (event) => {
  const [file] = event.clipboardData.files;
  if (file && !$("#ways").hidden) admitPicture(file);
});

typed.addEventListener("submit", (event) => {
  event.preventDefault();
  const text = typed.elements.code.value;
  if (text.trim()) busy($("button", typed), () => admitText(text));
});

if (asked("id")) await preview({ id: asked("id"), code: asked("code") || undefined });
else if (!known()) refused({ status: 401 });
