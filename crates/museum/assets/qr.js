// Finds a QR code in a picture, also a tilted one, for browsers without a detector of their own.

import { VERSIONS, alignment, maskOf, textOf } from "./qr-bits.js";

/** The most finder patterns that are tried. */
const MOST = 12;

/** The text of the QR code in the pixels of a picture; null if there is none. */
export function readCode(image) {
  const grey = greyOf(image);
  // Light that differs from place to place needs a threshold for each place; a sharp picture is read best with one for all.
  for (const threshold of [overall, local]) {
    const isDark = threshold(grey, image.width, image.height);
    const picture = { width: image.width, height: image.height, isDark: (x, y) => isDark(Math.round(x), Math.round(y)) };
    for (const corners of triples(finders(picture))) {
      const text = decode(picture, corners);
      if (text) return text;
    }
  }
  return null;
}

function greyOf({ data, width, height }) {
  const grey = new Uint8Array(width * height);
  for (let at = 0; at < grey.length; at += 1) grey[at] = (data[at * 4] * 77 + data[at * 4 + 1] * 150 + data[at * 4 + 2] * 29) >> 8;
  return grey;
}

/** One threshold, in the middle between the dark and the light pixels. */
function overall(grey, width, height) {
  const counts = new Uint32Array(256);
  for (const value of grey) counts[value] += 1;
  const share = (part) => {
    let left = grey.length * part;
    return counts.findIndex((count) => (left -= count) <= 0);
  };
  const middle = (share(0.02) + share(0.98)) / 2;
  return (x, y) => x >= 0 && y >= 0 && x < width && y < height && grey[y * width + x] < middle;
}

/** A pixel is dark if it is darker than its neighbourhood. */
function local(grey, width, height) {
  const sums = new Float64Array((width + 1) * (height + 1));
  for (let y = 0; y < height; y += 1) {
    let row = 0;
    for (let x = 0; x < width; x += 1) {
      row += grey[y * width + x];
      sums[(y + 1) * (width + 1) + x + 1] = sums[y * (width + 1) + x + 1] + row;
    }
  }
  const reach = Math.max(8, Math.round(Math.max(width, height) / 12));
  return (x, y) => {
    if (x < 0 || y < 0 || x >= width || y >= height) return false;
    const [left, right, top, bottom] = [Math.max(0, x - reach), Math.min(width, x + reach), Math.max(0, y - reach), Math.min(height, y + reach)];
    const sum = sums[bottom * (width + 1) + right] - sums[top * (width + 1) + right] - sums[bottom * (width + 1) + left] + sums[top * (width + 1) + left];
    return grey[y * width + x] * (right - left) * (bottom - top) < sum * 0.92;
  };
}

/** The finder patterns: dark, light, dark, light, dark as 1:1:3:1:1 in both directions. */
function finders({ width, height, isDark }) {
  const found = [];
  for (let y = 0; y < height; y += 1) {
    let runs = [0, 0, 0, 0, 0];
    let dark = false;
    for (let x = 0; x <= width; x += 1) {
      const here = x < width && isDark(x, y);
      if (here === dark) {
        runs[4] += 1;
        continue;
      }
      if (dark && isFinder(runs)) consider(runs, x, y);
      runs = [...runs.slice(1), 1];
      dark = here;
    }
  }
  function consider(runs, end, y) {
    const x = end - runs[4] - runs[3] - runs[2] / 2;
    const down = across(isDark, x, y, 0, 1, height);
    if (!down) return;
    const along = across(isDark, x, down.centre, 1, 0, width);
    if (!along) return;
    const point = { x: along.centre, y: down.centre, module: (along.length + down.length) / 14, count: 1 };
    const near = found.find((other) => Math.hypot(other.x - point.x, other.y - point.y) < 3 * other.module);
    if (!near) found.push(point);
    else {
      for (const name of ["x", "y", "module"]) near[name] = (near[name] * near.count + point[name]) / (near.count + 1);
      near.count += 1;
    }
  }
  return found.sort((one, other) => other.count - one.count).slice(0, MOST);
}

function isFinder(runs) {
  const module = runs.reduce((sum, run) => sum + run) / 7;
  return module >= 1 && [1, 1, 3, 1, 1].every((share, at) => Math.abs(runs[at] - share * module) < share * module * (share === 3 ? 0.5 : 0.75));
}

/** The same runs through a point in another direction; gives the centre and the length. */
function across(isDark, x, y, dx, dy, limit) {
  const start = dx ? x : y;
  const at = (step) => isDark(dx ? step : x, dy ? step : y);
  const runs = [0, 0, 0, 0, 0];
  let low = Math.round(start);
  if (!at(low)) return null;
  for (const index of [2, 1, 0]) for (; low >= 0 && at(low) === (index !== 1); low -= 1) runs[index] += 1;
  let high = Math.round(start) + 1;
  for (const index of [2, 3, 4]) for (; high < limit && at(high) === (index !== 3); high += 1) runs[index] += 1;
  if (!isFinder(runs)) return null;
  return { centre: high - runs[4] - runs[3] - runs[2] / 2 - 0.5, length: high - low - 1 };
}

/** The corners of what may be codes, the likeliest first: the right angle is at the top left. */
function triples(points) {
  const found = [];
  const distance = (one, other) => Math.hypot(one.x - other.x, one.y - other.y);
  points.forEach((first, a) => points.slice(a + 1).forEach((second, b) => points.slice(a + b + 2).forEach((third) => {
    const all = [first, second, third];
    const modules = all.map((point) => point.module);
    if (Math.max(...modules) > 1.8 * Math.min(...modules)) return;
    const [corner, one, other] = all
      .map((point, at) => ({ point, opposite: distance(all[(at + 1) % 3], all[(at + 2) % 3]), rest: [all[(at + 1) % 3], all[(at + 2) % 3]] }))
      .sort((x, y) => y.opposite - x.opposite)
      .slice(0, 1).flatMap(({ point, rest }) => [point, ...rest]);
    const [u, v] = [distance(corner, one), distance(corner, other)];
    const skew = Math.abs(((one.x - corner.x) * (other.x - corner.x) + (one.y - corner.y) * (other.y - corner.y)) / (u * v)) + Math.abs(Math.log(u / v));
    if (skew > 0.9) return;
    const turn = (one.x - corner.x) * (other.y - corner.y) - (one.y - corner.y) * (other.x - corner.x);
    const [right, bottom] = turn > 0 ? [one, other] : [other, one];
    found.push({ corner, right, bottom, skew });
  })));
  return found.sort((one, other) => one.skew - other.skew);
}

function decode(picture, corners) {
  const { corner, right, bottom } = corners;
  // The runs of a tilted pattern are longer than its sides.
  const angle = Math.atan2(right.y - corner.y, right.x - corner.x);
  const module = ((corner.module + right.module + bottom.module) / 3) * Math.max(Math.abs(Math.cos(angle)), Math.abs(Math.sin(angle)));
  const side = (Math.hypot(right.x - corner.x, right.y - corner.y) + Math.hypot(bottom.x - corner.x, bottom.y - corner.y)) / 2;
  const guess = Math.round((side / module + 7 - 17) / 4);
  for (const version of [guess, guess + 1, guess - 1, guess + 2, guess - 2]) {
    if (version < 1 || version > VERSIONS) continue;
    const size = version * 4 + 17;
    for (const place of grids(picture, corners, version, size)) {
      const text = textOf(size, (x, y) => picture.isDark(...place(x + 0.5, y + 0.5)));
      if (text) return text;
    }
  }
  return null;
}

/** Where the modules may be: seen from the front or tilted, with the alignment pattern at the bottom right if it is found, and without. */
function* grids(picture, { corner, right, bottom }, version, size) {
  const far = size - 3.5;
  const finders = [[3.5, 3.5, corner.x, corner.y], [far, 3.5, right.x, right.y], [3.5, far, bottom.x, bottom.y]];
  for (const power of [0, -2 / 3]) {
    // What is farther is smaller: the area of a module shrinks with the third power of its distance.
    const [a, b, c] = [corner, right, bottom].map(({ module }) => module ** power);
    const fourth = ["x", "y"].map((axis) => (right[axis] * b + bottom[axis] * c - corner[axis] * a) / (b + c - a));
    const guess = projection([...finders, [far, far, ...fourth]]);
    // The formats are near the finders: without one that can be read, it is another version, or no code.
    if (maskOf(size, (x, y) => picture.isDark(...guess(x + 0.5, y + 0.5))) === null) continue;
    const mark = version > 1 ? alignmentPoint(picture, guess, alignment(version).at(-1) + 0.5) : null;
    if (mark) yield projection([...finders, mark]);
    yield guess;
  }
}

/** The alignment pattern: where the picture agrees best with it near its expected place. */
function alignmentPoint(picture, guess, at) {
  let best = { score: 0 };
  for (let reach = 0; reach <= 6; reach += 0.5) {
    for (let dx = -reach; dx <= reach; dx += 0.5) {
      for (let dy = -reach; dy <= reach; dy += 0.5) {
        if (Math.max(Math.abs(dx), Math.abs(dy)) !== reach) continue;
        let score = 0;
        for (let x = -2; x <= 2; x += 1) {
          for (let y = -2; y <= 2; y += 1) {
            const ring = Math.max(Math.abs(x), Math.abs(y));
            if (picture.isDark(...guess(at + dx + x, at + dy + y)) === (ring !== 1)) score += 1;
          }
        }
        if (score > best.score) best = { score, dx, dy, count: 1 };
        // Several places agree equally: the middle of those that are near.
        else if (score === best.score && Math.hypot(dx - best.dx, dy - best.dy) < 1.5) {
          best.dx = (best.dx * best.count + dx) / (best.count + 1);
          best.dy = (best.dy * best.count + dy) / (best.count + 1);
          best.count += 1;
        }
      }
    }
  }
  return best.score >= 21 ? [at, at, ...guess(at + best.dx, at + best.dy)] : null;
}

/** The projection that maps four points of the code to four of the picture. */
function projection(points) {
  const rows = points.flatMap(([x, y, u, v]) => [[x, y, 1, 0, 0, 0, -u * x, -u * y, u], [0, 0, 0, x, y, 1, -v * x, -v * y, v]]);
  const [a, b, c, d, e, f, g, h] = solve(rows);
  return (x, y) => {
    const depth = g * x + h * y + 1;
    return [(a * x + b * y + c) / depth, (d * x + e * y + f) / depth];
  };
}

/** Solves linear equations; the last column is the right side. */
function solve(rows) {
  rows.forEach((_, column) => {
    let pivot = column;
    for (let row = column + 1; row < rows.length; row += 1) if (Math.abs(rows[row][column]) > Math.abs(rows[pivot][column])) pivot = row;
    [rows[column], rows[pivot]] = [rows[pivot], rows[column]];
    rows.forEach((row, at) => {
      if (at === column) return;
      const factor = row[column] / rows[column][column];
      for (let index = column; index < row.length; index += 1) row[index] -= factor * rows[column][index];
    });
  });
  return rows.map((row, at) => row.at(-1) / row[at]);
}
