// The tickets that were bought in this tab: the API has no list of them.

import { page } from "./ui.js";
import { name } from "./visitor.js";

const STORE = `tickets:${page.path}`;
/** The oldest are forgotten. */
const MOST = 60;

function all() {
  try {
    return JSON.parse(sessionStorage.getItem(STORE)) ?? [];
  } catch {
    return [];
  }
}

/** The tickets of the signed-in account, the newest first. */
export const tickets = () => all().filter((ticket) => ticket.account === name());

export const ticketOf = (id) => tickets().find((ticket) => ticket.ticketId === id);

export function keep(ticket) {
  sessionStorage.setItem(STORE, JSON.stringify([{ ...ticket, account: name() }, ...all()].slice(0, MOST)));
}
