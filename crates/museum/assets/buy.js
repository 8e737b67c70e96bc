// A ticket for general entry.

import { $, show } from "./ui.js";
import { known } from "./visitor.js";
import { asked, dayHere, museumTime, showRefusal } from "./museum.js";
import { isDay } from "./days.js";
import { sellForm } from "./sell.js";

const today = (await museumTime())?.date ?? dayHere();
if (known()) show($("#buy"), sellForm({ today, day: isDay(asked("date")) ? asked("date") : today }));
else showRefusal($("#buy"), { status: 401 }, "", "h2");
