// Makes crates/train/assets/europe.js, the map of the train service. Run it again only to change the map:
//
//   mkdir /tmp/atlas && cd /tmp/atlas && npm install world-atlas@2 topojson-client@3
//   node TRIPTYCH/tools/europe.mjs > TRIPTYCH/crates/train/assets/europe.js
//
// The package world-atlas is made from Natural Earth (https://www.naturalearthdata.com), which is in the public domain.

import { createRequire } from "node:module";
import { readFileSync } from "node:fs";

const require = createRequire(`${process.cwd()}/`);
const { merge, mesh } = require("topojson-client");
const world = JSON.parse(readFileSync(require.resolve("world-atlas/countries-50m.json")));

/** The map is a Lambert azimuthal equal-area projection around this point; a unit is so many kilometres. */
const CENTRE = [10, 52];
const UNIT = 4.4;
const BOX = { left: -395, right: 400, top: -425, bottom: 400 };
const WIDTH = BOX.right - BOX.left;
const HEIGHT = BOX.bottom - BOX.top;
const EARTH = 6371;
/** Details smaller than this are left out: in units, and in square units for islands. */
const DETAIL = 0.6;
const SMALLEST = 14;

const radians = (degrees) => (degrees * Math.PI) / 180;

function project([longitude, latitude]) {
  const [at, up, middle] = [radians(longitude - CENTRE[0]), radians(latitude), radians(CENTRE[1])];
  const near = 1 + Math.sin(middle) * Math.sin(up) + Math.cos(middle) * Math.cos(up) * Math.cos(at);
  const scale = (EARTH / UNIT) * Math.sqrt(2 / Math.max(near, 1e-9));
  return [
    scale * Math.cos(up) * Math.sin(at) - BOX.left,
    -scale * (Math.cos(middle) * Math.sin(up) - Math.sin(middle) * Math.cos(up) * Math.cos(at)) - BOX.top,
  ];
}

/** The arcs in units of the map, each without small details. Neighbours share arcs, so no gaps appear between them. */
function projected(topology) {
  const { scale, translate } = topology.transform;
  const arcs = topology.arcs.map((arc) => {
    let [x, y] = [0, 0];
    return simplified(arc.map(([dx, dy]) => {
      [x, y] = [x + dx, y + dy];
      return project([x * scale[0] + translate[0], y * scale[1] + translate[1]]);
    }));
  });
  return { type: "Topology", objects: topology.objects, arcs };
}

/** Douglas and Peucker's way. */
function simplified(points) {
  if (points.length < 3) return points;
  const [first, last] = [points[0], points[points.length - 1]];
  let [worst, at] = [0, 0];
  points.forEach((point, index) => {
    const distance = fromLine(point, first, last);
    if (distance > worst) [worst, at] = [distance, index];
  });
  if (worst <= DETAIL) return [first, last];
  return [...simplified(points.slice(0, at + 1)).slice(0, -1), ...simplified(points.slice(at))];
}

function fromLine([x, y], [ax, ay], [bx, by]) {
  const length = Math.hypot(bx - ax, by - ay);
  if (length === 0) return Math.hypot(x - ax, y - ay);
  return Math.abs((bx - ax) * (ay - y) - (ax - x) * (by - ay)) / length;
}

const EDGES = [
  [0, (p) => p[0] >= -2, -2], [0, (p) => p[0] <= WIDTH + 2, WIDTH + 2],
  [1, (p) => p[1] >= -2, -2], [1, (p) => p[1] <= HEIGHT + 2, HEIGHT + 2],
];

/** The part of a ring inside the box, edge by edge. */
function clipped(ring) {
  return EDGES.reduce((points, [axis, inside, edge]) => points.flatMap((point, index) => {
    const before = points[(index + points.length - 1) % points.length];
    const crossing = () => {
      const part = (edge - before[axis]) / (point[axis] - before[axis]);
      return before.map((value, at) => value + (point[at] - value) * part);
    };
    if (inside(point)) return inside(before) ? [point] : [crossing(), point];
    return inside(before) ? [crossing()] : [];
  }), ring);
}

const area = (ring) => Math.abs(ring.reduce((sum, [x, y], at) => {
  const [nextX, nextY] = ring[(at + 1) % ring.length];
  return sum + x * nextY - nextX * y;
}, 0)) / 2;

/** A path with whole numbers, each point relative to the one before. */
function path(points, closed) {
  const rounded = points.map((point) => point.map(Math.round)).filter((point, at, all) => at === 0 || String(point) !== String(all[at - 1]));
  if (rounded.length < (closed ? 3 : 2)) return "";
  const steps = rounded.slice(1).map(([x, y], at) => `${x - rounded[at][0]} ${y - rounded[at][1]}`);
  return `M${rounded[0].join(" ")}l${steps.join(" ")}${closed ? "z" : ""}`.replaceAll(" -", "-");
}

const map = projected(world);
const countries = map.objects.countries;
const rings = merge(map, countries.geometries).coordinates.flatMap((polygon) => polygon.map((ring) => clipped(ring.slice(0, -1))));
const land = rings.filter((ring) => ring.length > 2 && area(ring) > SMALLEST).map((ring) => path(ring, true)).join("");
const isInside = ([x, y]) => x > -2 && x < WIDTH + 2 && y > -2 && y < HEIGHT + 2;
const borders = mesh(map, countries, (one, other) => one !== other).coordinates.flatMap((line) => {
  const parts = [[]];
  line.forEach((point) => (isInside(point) ? parts[parts.length - 1].push(point) : parts.push([])));
  return parts;
}).map((line) => path(line, false)).join("");

console.log(`// A map of Europe from Natural Earth (https://www.naturalearthdata.com), which is in the public domain. tools/europe.mjs made this file.

/** The size of the map, and of a unit in kilometres; the point of the projection's centre in the map, and on the earth. */
export const map = ${JSON.stringify({ width: WIDTH, height: HEIGHT, kilometres: UNIT, x: -BOX.left, y: -BOX.top, longitude: CENTRE[0], latitude: CENTRE[1] })};

export const land = ${JSON.stringify(land)};

export const borders = ${JSON.stringify(borders)};`);
