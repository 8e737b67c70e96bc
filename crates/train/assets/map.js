// The map of Europe with the stations, and the line of a journey.

import { $, h, show, svg } from "./ui.js";
import { borders, land, map } from "./europe.js";

/** How far from a station a click still chooses it, in units of the map. */
const NEAR = 22;
const EARTH = 6371;
const radians = (degrees) => (degrees * Math.PI) / 180;

/** Where a station is on the map: Lambert's azimuthal equal-area projection, as in tools/europe.mjs. */
function place({ longitude, latitude }) {
  const [at, up, middle] = [radians(longitude - map.longitude), radians(latitude), radians(map.latitude)];
  const near = 1 + Math.sin(middle) * Math.sin(up) + Math.cos(middle) * Math.cos(up) * Math.cos(at);
  const scale = (EARTH / map.kilometres) * Math.sqrt(2 / near);
  return {
    x: map.x + scale * Math.cos(up) * Math.sin(at),
    y: map.y - scale * (Math.cos(middle) * Math.sin(up) - Math.sin(middle) * Math.cos(up) * Math.cos(at)),
  };
}

/** Draws the map into a figure; choose(station) is called for a click. The fields beside it do the same with the keyboard. */
export function drawMap(figure, stations, choose) {
  const spots = [...stations.values()].map((station) => ({ station, ...place(station) }));
  const dots = new Map(spots.map(({ station, x, y }) => [station.id, svg("circle", { class: "dot", cx: x.toFixed(1), cy: y.toFixed(1), r: 4 })]));
  const line = svg("g", { class: "line" });
  const names = svg("g", { class: "names" });
  const image = svg("svg", { viewBox: `0 0 ${map.width} ${map.height}`, role: "img", "aria-labelledby": "map-caption" },
    svg("path", { class: "land", d: land }), svg("path", { class: "borders", d: borders }), line, svg("g", {}, [...dots.values()]), names);
  show(figure, image, h("figcaption", { id: "map-caption", class: "small soft" }, "Choose stations on the map or in the fields."));

  let ends = [];
  let over = null;
  const nearest = (event) => {
    const box = image.getBoundingClientRect();
    const unit = map.width / box.width;
    const [x, y] = [(event.clientX - box.left) * unit, (event.clientY - box.top) * unit];
    const found = spots.map((spot) => ({ spot, far: Math.hypot(spot.x - x, spot.y - y) })).sort((one, other) => one.far - other.far)[0];
    return found && found.far < NEAR ? found.spot : null;
  };
  image.addEventListener("pointermove", (event) => {
    over = nearest(event);
    image.classList.toggle("over", Boolean(over));
    label();
  });
  image.addEventListener("pointerleave", () => {
    over = null;
    label();
  });
  image.addEventListener("click", (event) => {
    const spot = nearest(event);
    if (spot) choose(spot.station);
  });

  function label() {
    const shown = [...ends, over && !ends.includes(over) ? over : null].filter(Boolean);
    show(names, shown.map((spot) => {
      const before = spot.x > map.width * 0.7;
      const other = ends.find((end) => end !== spot);
      const below = other && Math.abs(other.y - spot.y) < 26 && spot === ends[1];
      return svg("text", { x: spot.x + (before ? -12 : 12), y: spot.y + (below ? 26 : -8), "text-anchor": before ? "end" : "start" }, spot.station.name);
    }));
  }

  return {
    /** Shows the chosen stations, the line between them, and which stations a direct train reaches. */
    mark(from, to, direct) {
      const spot = (station) => spots.find((one) => one.station.id === station?.id);
      ends = [spot(from), spot(to)].filter(Boolean);
      const reached = direct && new Set(direct.map((station) => station.id));
      for (const [id, dot] of dots) {
        const end = id === from?.id || id === to?.id;
        dot.setAttribute("class", `dot${end ? " end" : reached ? (reached.has(id) ? " direct" : " far") : ""}`);
        dot.setAttribute("r", end ? 8 : 4.5);
      }
      for (const end of ends) dots.get(end.station.id).parentNode.append(dots.get(end.station.id));
      show(line);
      if (ends.length === 2) line.append(curve(...ends));
      $("figcaption", figure).textContent = from && !to && reached
        ? `${reached.size === 1 ? "One station has" : `${reached.size} stations have`} a direct train from ${from.name}.`
        : "Choose stations on the map or in the fields.";
      label();
    },
  };
}

/** The line of a journey, bent a little. It grows from its start. */
function curve(from, to) {
  const [dx, dy] = [to.x - from.x, to.y - from.y];
  const bend = 0.12 * (dx < 0 ? -1 : 1);
  const path = svg("path", { class: "route", pathLength: 1,
    d: `M${from.x} ${from.y}Q${(from.x + to.x) / 2 + dy * bend} ${(from.y + to.y) / 2 - dx * bend} ${to.x} ${to.y}` });
  return path;
}
