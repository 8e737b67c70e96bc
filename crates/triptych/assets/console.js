// The console: views, large type, and the start of all parts.

import { $, explain, h, show } from "./ui.js";
import * as instance from "./instance.js";
import { startCharts } from "./charts.js";
import { startHandout } from "./handout.js";
import { startJournal } from "./journal.js";
import { startPresenter } from "./presenter.js";
import { startSandboxes } from "./sandboxes.js";
import { startServices } from "./services.js";
import { startWebhooks } from "./webhooks.js";

const VIEWS = ["overview", "sandboxes", "webhooks", "handout"];

/** Shows the view that the address names. */
function showView(focus) {
  const wanted = location.hash.slice(1);
  if (wanted === "main") return;
  const view = VIEWS.includes(wanted) ? wanted : VIEWS[0];
  document.documentElement.dataset.view = view;
  for (const one of VIEWS) $(`#view-${one}`).hidden = one !== view;
  document.querySelectorAll(".top nav a").forEach((link) => {
    if (link.dataset.view === view) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  });
  const heading = $(`#view-${view} h1`);
  if (!heading) return;
  document.title = `${heading.textContent} · Triptych console`;
  if (focus) {
    window.scrollTo(0, 0);
    heading.focus({ preventScroll: true });
  }
  document.dispatchEvent(new CustomEvent("view", { detail: view }));
}

function startLargeType() {
  const button = $("#large");
  const set = (large) => {
    document.documentElement.toggleAttribute("data-large", large);
    button.setAttribute("aria-pressed", String(large));
  };
  set(localStorage.getItem("large-type") === "on");
  button.addEventListener("click", () => {
    const large = button.getAttribute("aria-pressed") !== "true";
    localStorage.setItem("large-type", large ? "on" : "off");
    set(large);
  });
}

startLargeType();
showView(false);
window.addEventListener("hashchange", () => showView(true));
const started = await instance.start();
if (started.ok) {
  startServices();
  startPresenter();
  startJournal();
  startSandboxes();
  startWebhooks();
  startHandout();
  startCharts();
  showView(false);
} else {
  show($("#services"), h("p", { class: "note bad" }, explain(started)));
  $("#deck").hidden = true;
}
