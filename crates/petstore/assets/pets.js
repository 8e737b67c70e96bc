// The pets of the store as cards.

import { $, h, refuse, show } from "./ui.js";
import { call } from "./api.js";

const answer = await call("GET", "/pet/findByStatus", { query: { status: "available" } });
if (answer.ok) show($("#pets"), answer.data.map((pet) => h("article", { class: "card" }, h("h2", {}, pet.name))));
else refuse(answer);
