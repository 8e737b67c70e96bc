// The page that the sign-in leads back to.

import { $, h, show } from "./ui.js";
import { finishSignIn, signIn } from "./visitor.js";

const wrong = await finishSignIn();
if (wrong) {
  const again = h("button", { type: "button", class: "primary", onclick: () => signIn(document.baseURI.replace(/\/app\/signed-in.*$/, "/")) }, "Sign in again");
  show($("#main"), h("div", { class: "card stack" }, h("h1", {}, "You are not signed in"), h("p", {}, wrong), h("div", { class: "row" }, again)));
}
