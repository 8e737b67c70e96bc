// The stations of the service.

import { call } from "./api.js";

let pending;

/** All stations by their ids, read once; null if they cannot be read. */
export function stations() {
  pending ??= read();
  return pending;
}

async function read() {
  const all = new Map();
  for (let page = 1; ; page += 1) {
    const answer = await call("GET", "/stations", { query: { limit: 100, page } });
    if (!answer.ok) {
      pending = undefined;
      return { failed: answer, all };
    }
    for (const station of answer.data.data) all.set(station.id, station);
    if (!answer.data.links.next) return { all };
  }
}

/** The stations to which a direct train goes from this one. */
export async function directFrom(id) {
  const answer = await call("GET", "/stations", { query: { direct_from: id, limit: 100 } });
  return answer.ok ? answer.data.data : null;
}
