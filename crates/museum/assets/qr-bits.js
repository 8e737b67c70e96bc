// The text in the modules of a QR code (ISO/IEC 18004): format, mask, error correction, segments. It knows the codes of tickets: error
// correction of level M, at most version 15.

/** For each version: codewords of error correction in a block, and how many blocks there are. */
const BLOCKS = [null, [10, 1], [16, 1], [26, 1], [18, 2], [24, 2], [16, 4], [18, 4], [22, 4], [22, 5], [26, 5], [30, 5], [22, 8], [22, 9], [24, 9], [24, 10]];
const LEVEL_M = 0;
export const VERSIONS = BLOCKS.length - 1;

const MASKS = [
  (x, y) => (x + y) % 2, (x, y) => y % 2, (x) => x % 3, (x, y) => (x + y) % 3,
  (x, y) => (Math.floor(x / 3) + Math.floor(y / 2)) % 2, (x, y) => ((x * y) % 2) + ((x * y) % 3),
  (x, y) => (((x * y) % 2) + ((x * y) % 3)) % 2, (x, y) => (((x + y) % 2) + ((x * y) % 3)) % 2,
];

/** The text of a code, given by its size and whether a module is dark; null if it cannot be read. */
export function textOf(size, isDark) {
  const mask = maskOf(size, isDark);
  if (mask === null) return null;
  const version = (size - 17) / 4;
  const data = corrected(codewords(size, version, (x, y) => isDark(x, y) !== (MASKS[mask](x, y) === 0)), BLOCKS[version]);
  return data && segments(data, version);
}

/** The mask, from either copy of the format; null if both are damaged or the level is another. */
export function maskOf(size, isDark) {
  const read = (modules) => modules.reduce((bits, [x, y]) => (bits << 1) | (isDark(x, y) ? 1 : 0), 0);
  const around = [0, 1, 2, 3, 4, 5, 7, 8];
  const first = [...around.map((x) => [x, 8]), ...[7, 5, 4, 3, 2, 1, 0].map((y) => [8, y])];
  const second = [...[1, 2, 3, 4, 5, 6, 7].map((up) => [8, size - up]), ...[8, 7, 6, 5, 4, 3, 2, 1].map((left) => [size - left, 8])];
  for (const bits of [read(first), read(second)]) {
    for (let mask = 0; mask < MASKS.length; mask += 1) {
      if (ones(bits ^ formatOf((LEVEL_M << 3) | mask)) <= 3) return mask;
    }
  }
  return null;
}

function formatOf(value) {
  let rest = value << 10;
  for (let bit = 14; bit >= 10; bit -= 1) if (rest & (1 << bit)) rest ^= 0x537 << (bit - 10);
  return ((value << 10) | rest) ^ 0x5412;
}

function ones(bits) {
  let count = 0;
  for (let left = bits; left; left &= left - 1) count += 1;
  return count;
}

/** Where the centres of alignment patterns are, in both directions. */
export function alignment(version) {
  if (version === 1) return [];
  const count = Math.floor(version / 7) + 2;
  const last = version * 4 + 10;
  const step = Math.ceil((last - 6) / (count - 1) / 2) * 2;
  return [6, ...Array.from({ length: count - 1 }, (_, at) => last - (count - 2 - at) * step)];
}

/** Whether a module has no data: finders with their formats, timing, alignment, version. */
function fixed(size, version) {
  const centres = alignment(version);
  const last = size - 7;
  const aligned = centres.flatMap((x) => centres.map((y) => [x, y])).filter(([x, y]) => !((x === 6 && (y === 6 || y === last)) || (x === last && y === 6)));
  return (x, y) => (x < 9 && y < 9) || (x < 9 && y >= size - 8) || (x >= size - 8 && y < 9) || x === 6 || y === 6
    || aligned.some(([a, b]) => Math.abs(x - a) <= 2 && Math.abs(y - b) <= 2)
    || (version >= 7 && ((x < 6 && y >= size - 11) || (y < 6 && x >= size - 11)));
}

/** The bytes in the order in which they are drawn: two columns at a time, up and down, from the right. */
function codewords(size, version, bit) {
  const isFixed = fixed(size, version);
  const bytes = [];
  let byte = 0;
  let count = 0;
  let up = true;
  for (let right = size - 1; right > 0; right -= 2) {
    if (right === 6) right = 5;
    for (let at = 0; at < size; at += 1) {
      const y = up ? size - 1 - at : at;
      for (const x of [right, right - 1]) {
        if (isFixed(x, y)) continue;
        byte = (byte << 1) | (bit(x, y) ? 1 : 0);
        count += 1;
        if (count % 8 === 0) {
          bytes.push(byte);
          byte = 0;
        }
      }
    }
    up = !up;
  }
  return bytes;
}

/** The data of all blocks, which take turns; null if a block has too many errors. */
function corrected(bytes, [checks, count]) {
  const shorter = Math.floor(bytes.length / count) - checks;
  const longer = bytes.length % count;
  const blocks = Array.from({ length: count }, () => []);
  let at = 0;
  for (let index = 0; index <= shorter; index += 1) {
    blocks.forEach((block, number) => {
      if (index < shorter || number >= count - longer) block.push(bytes[at++]);
    });
  }
  for (let index = 0; index < checks; index += 1) blocks.forEach((block) => block.push(bytes[at++]));
  const data = [];
  for (const block of blocks) {
    if (!repair(block, checks)) return null;
    data.push(...block.slice(0, block.length - checks));
  }
  return data;
}

// The field of 256 elements.
const POWERS = new Uint8Array(512);
const LOGARITHMS = new Uint8Array(256);
for (let power = 0, value = 1; power < 255; power += 1) {
  POWERS[power] = POWERS[power + 255] = value;
  LOGARITHMS[value] = power;
  value = (value << 1) ^ (value & 0x80 ? 0x11d : 0);
}
const times = (one, other) => (one && other ? POWERS[LOGARITHMS[one] + LOGARITHMS[other]] : 0);
const over = (one, other) => (one ? POWERS[LOGARITHMS[one] + 255 - LOGARITHMS[other]] : 0);
/** The value of a polynomial, whose lowest coefficient is the first. */
const valueAt = (polynomial, x) => polynomial.reduceRight((sum, coefficient) => times(sum, x) ^ coefficient, 0);

/** Repairs a block of a Reed-Solomon code; false if it has too many errors. */
function repair(block, checks) {
  const received = [...block].reverse();
  const syndromes = Array.from({ length: checks }, (_, power) => valueAt(received, POWERS[power]));
  if (syndromes.every((syndrome) => syndrome === 0)) return true;
  const locator = berlekampMassey(syndromes);
  const errors = locator.length - 1;
  if (errors > checks / 2) return false;
  const evaluator = Array.from({ length: checks }, (_, at) => locator.reduce((sum, coefficient, by) => (by <= at ? sum ^ times(coefficient, syndromes[at - by]) : sum), 0));
  let found = 0;
  for (let position = 0; position < block.length; position += 1) {
    const inverse = POWERS[(255 - position) % 255];
    if (valueAt(locator, inverse) !== 0) continue;
    const slope = locator.reduce((sum, coefficient, at) => (at % 2 ? sum ^ times(coefficient, POWERS[(LOGARITHMS[inverse] * (at - 1)) % 255]) : sum), 0);
    if (slope === 0) return false;
    block[block.length - 1 - position] ^= times(POWERS[position], over(valueAt(evaluator, inverse), slope));
    found += 1;
  }
  return found === errors;
}

/** The polynomial whose roots say where the errors are. */
function berlekampMassey(syndromes) {
  let current = [1];
  let before = [1];
  let length = 0;
  let gap = 1;
  let last = 1;
  for (let at = 0; at < syndromes.length; at += 1) {
    let difference = syndromes[at];
    for (let by = 1; by <= length; by += 1) difference ^= times(current[by] ?? 0, syndromes[at - by]);
    if (difference === 0) {
      gap += 1;
      continue;
    }
    const factor = over(difference, last);
    const next = [...current];
    before.forEach((coefficient, index) => { next[index + gap] = (next[index + gap] ?? 0) ^ times(factor, coefficient); });
    for (let index = 0; index < next.length; index += 1) next[index] ??= 0;
    if (2 * length <= at) {
      before = current;
      last = difference;
      length = at + 1 - length;
      gap = 1;
    } else {
      gap += 1;
    }
    current = next;
  }
  while (current.length > 1 && current.at(-1) === 0) current.pop();
  return current;
}

const LETTERS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ $%*+-./:";

/** The text of the data: parts of digits, of capital letters, and of bytes. */
function segments(data, version) {
  let at = 0;
  const take = (count) => {
    let value = 0;
    for (let bit = 0; bit < count; bit += 1, at += 1) value = (value << 1) | ((data[at >> 3] >> (7 - (at & 7))) & 1);
    return value;
  };
  const wide = version >= 10 ? 1 : 0;
  const bytes = [];
  const write = (text) => bytes.push(...new TextEncoder().encode(text));
  while (data.length * 8 - at >= 4) {
    const mode = take(4);
    if (mode === 0) break;
    if (mode === 1) {
      for (let left = take([10, 12][wide]); left > 0; left -= 3) {
        const digits = Math.min(left, 3);
        write(String(take([0, 4, 7, 10][digits])).padStart(digits, "0"));
      }
    } else if (mode === 2) {
      for (let left = take([9, 11][wide]); left > 0; left -= 2) {
        const pair = take(left > 1 ? 11 : 6);
        write(left > 1 ? LETTERS[Math.floor(pair / 45)] + LETTERS[pair % 45] : LETTERS[pair]);
      }
    } else if (mode === 4) {
      for (let left = take([8, 16][wide]); left > 0; left -= 1) bytes.push(take(8));
    } else {
      return null;
    }
    if (at > data.length * 8) return null;
  }
  return new TextDecoder().decode(new Uint8Array(bytes));
}
