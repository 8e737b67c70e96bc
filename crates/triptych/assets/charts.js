// Charts of the last five minutes, from the metrics: requests, latency and errors of each service.

import { h, show, svg } from "./ui.js";
import { repeat } from "./operator.js";

const EVERY = 2000;
const SAMPLES = 150;
/** Latencies are of this many samples, so that few calls do not make a line jump. */
const WINDOW = 5;
const WIDTH = 300;
const HEIGHT = 56;

/** The samples, the oldest first: time, and for each service its counters. */
const samples = [];
const drawn = new Map();

export function startCharts() {
  repeat(EVERY, sample);
}

async function sample() {
  const text = await fetch("/metrics", { credentials: "omit" }).then((response) => response.text()).catch(() => "");
  if (!text) return;
  samples.push({ time: performance.now(), services: read(text) });
  if (samples.length > SAMPLES + WINDOW) samples.shift();
  drawn.forEach((draw) => draw());
}

const LINE = /^triptych_http_request_seconds_(bucket|count)\{([^}]*)\} (\S+)$/;

/** The counters of each service: count, refused (4xx), failed (5xx and no answer), and the buckets of its latency. */
function read(text) {
  const services = {};
  for (const line of text.split("\n")) {
    const found = LINE.exec(line);
    if (!found) continue;
    const labels = Object.fromEntries([...found[2].matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, key, value]) => [key, value]));
    const service = (services[labels.service] ??= { count: 0, refused: 0, failed: 0, buckets: new Map() });
    const value = Number(found[3]);
    if (found[1] === "bucket") {
      service.buckets.set(labels.le, (service.buckets.get(labels.le) ?? 0) + value);
      continue;
    }
    service.count += value;
    const status = Number(labels.status);
    if (status >= 500 || status === 444) service.failed += value;
    else if (status >= 400) service.refused += value;
  }
  return services;
}

const EMPTY = { count: 0, refused: 0, failed: 0, buckets: new Map() };
const at = (index, service) => samples[index].services[service] ?? EMPTY;

/** How much a counter grew each second, for each sample but the first. */
function rates(service, counter) {
  return samples.slice(1).map((one, index) => {
    const grown = at(index + 1, service)[counter] - at(index, service)[counter];
    return Math.max(grown, 0) / ((one.time - samples[index].time) / 1000);
  });
}

/** A quantile of the latency in milliseconds, for each sample but the first; null where there were no calls. */
function latencies(service, quantile) {
  return samples.slice(1).map((_, index) => {
    const now = at(index + 1, service);
    const before = at(Math.max(index + 1 - WINDOW, 0), service);
    const total = now.count - before.count;
    if (total <= 0) return null;
    let lower = 0;
    let below = 0;
    for (const [le, value] of [...now.buckets].map(([key, sum]) => [key === "+Inf" ? Infinity : Number(key), sum - (before.buckets.get(key) ?? 0)]).sort(([a], [b]) => a - b)) {
      if (value >= quantile * total) {
        if (le === Infinity) return lower * 1000;
        const share = value > below ? (quantile * total - below) / (value - below) : 1;
        return (lower + (le - lower) * share) * 1000;
      }
      [lower, below] = [le, value];
    }
    return lower * 1000;
  });
}

const perSecond = (value) => (value >= 10 ? value.toFixed(0) : value.toFixed(1));
const milliseconds = (value) => (value === null || value === undefined ? "–" : value >= 1000 ? `${(value / 1000).toFixed(1)} s` : value >= 10 ? `${value.toFixed(0)} ms` : `${value.toFixed(1)} ms`);

/** The three charts of a service. */
export function chartsOf(service) {
  const charts = [
    chart("Requests", () => {
      const rate = rates(service, "count");
      const now = rate.at(-1) ?? 0;
      return { series: [{ values: rate, kind: "area" }], now: [[`${perSecond(now)}/s`]], top: `${perSecond(Math.max(...rate, 0))}/s` };
    }),
    chart("Latency", () => {
      const [middle, high] = [latencies(service, 0.5), latencies(service, 0.95)];
      return {
        series: [{ values: high, kind: "soft" }, { values: middle, kind: "line" }],
        now: [[`p50 ${milliseconds(middle.at(-1))}`], [`p95 ${milliseconds(high.at(-1))}`, "soft"]],
        top: milliseconds(Math.max(...high.map((value) => value ?? 0), 0) || null),
      };
    }),
    chart("Errors", () => {
      const [refused, failed] = [rates(service, "refused"), rates(service, "failed")];
      const both = refused.map((value, index) => value + failed[index]);
      const last = (values) => values.at(-1) ?? 0;
      return {
        series: [{ values: both, kind: "warn" }, { values: failed, kind: "bad" }],
        now: [[`4xx ${perSecond(last(refused))}/s`, last(refused) ? "warn" : "soft"], [`5xx ${perSecond(last(failed))}/s`, last(failed) ? "bad" : "soft"]],
        top: `${perSecond(Math.max(...both, 0))}/s`,
      };
    }),
  ];
  const draw = () => charts.forEach((one) => one.draw());
  drawn.set(service, draw);
  draw();
  return h("div", { class: "charts" }, charts.map((one) => one.element));
}

/** A chart: `content` gives its series, its current values and its highest value. */
function chart(label, content) {
  const now = h("span", { class: "now" });
  const top = h("span", { class: "top-value", "aria-hidden": "true" });
  const image = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", role: "img" });
  const element = h("figure", { class: "chart" }, h("figcaption", {}, h("b", {}, label), now), h("div", { class: "plot" }, image, top));
  const draw = () => {
    const { series, now: values, top: highest } = content();
    show(now, values.map(([text, kind]) => h("span", { class: kind ?? "" }, text)));
    show(top, samples.length > 1 ? highest : "");
    image.setAttribute("aria-label", `${label}, last five minutes: now ${values.map(([text]) => text).join(", ")}; highest ${highest}`);
    const most = Math.max(...series.flatMap(({ values: all }) => all.map((value) => value ?? 0)), 0) || 1;
    show(image, series.map(({ values: all, kind }) => paths(all, kind, most)));
  };
  return { element, draw };
}

/** A line, with the area below it where that means an amount. */
function paths(values, kind, most) {
  const x = (index) => (WIDTH * (SAMPLES - values.length + index + 1)) / SAMPLES;
  const y = (value) => HEIGHT - 2 - (HEIGHT - 8) * (value / most);
  const parts = [];
  let run = [];
  const close = () => {
    if (run.length) parts.push(run);
    run = [];
  };
  values.forEach((value, index) => {
    if (value === null || x(index) < 0) close();
    else run.push([x(index), y(value)]);
  });
  close();
  const line = parts.map((part) => part.map(([left, height], index) => `${index ? "L" : "M"}${left.toFixed(1)} ${height.toFixed(1)}`).join("")).join("");
  const below = parts.map((part) => `M${part[0][0].toFixed(1)} ${HEIGHT}${part.map(([left, height]) => `L${left.toFixed(1)} ${height.toFixed(1)}`).join("")}L${part.at(-1)[0].toFixed(1)} ${HEIGHT}Z`).join("");
  return [kind === "line" || kind === "soft" ? null : svg("path", { class: `below ${kind}`, d: below }), svg("path", { class: `line ${kind}`, d: line })].filter(Boolean);
}
