// SHA-256 of a text (FIPS 180-4). Browsers have their own only on https and on this machine; a class may use plain http in its room.

const K = [];
const FIRST = [];
for (let number = 2; K.length < 64; number += 1) {
  let prime = true;
  for (let divisor = 2; divisor * divisor <= number; divisor += 1) prime &&= number % divisor !== 0;
  if (!prime) continue;
  if (FIRST.length < 8) FIRST.push(fraction(number ** (1 / 2)));
  K.push(fraction(number ** (1 / 3)));
}

function fraction(value) {
  return ((value % 1) * 2 ** 32) | 0;
}

/** The 32 bytes of the hash. */
export async function sha256(text) {
  const bytes = new TextEncoder().encode(text);
  if (globalThis.crypto?.subtle) return new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  return plain(bytes);
}

/** The same without the browser's own. */
export function plain(bytes) {
  const padded = new Uint8Array((((bytes.length + 8) >> 6) + 1) << 6);
  padded.set(bytes);
  padded[bytes.length] = 0x80;
  const view = new DataView(padded.buffer);
  view.setUint32(padded.length - 4, bytes.length * 8);
  const hash = [...FIRST];
  const words = new Int32Array(64);
  const turn = (word, by) => (word >>> by) | (word << (32 - by));
  for (let block = 0; block < padded.length; block += 64) {
    for (let i = 0; i < 16; i += 1) words[i] = view.getInt32(block + i * 4);
    for (let i = 16; i < 64; i += 1) {
      const low = turn(words[i - 15], 7) ^ turn(words[i - 15], 18) ^ (words[i - 15] >>> 3);
      const high = turn(words[i - 2], 17) ^ turn(words[i - 2], 19) ^ (words[i - 2] >>> 10);
      words[i] = (words[i - 16] + low + words[i - 7] + high) | 0;
    }
    let [a, b, c, d, e, f, g, last] = hash;
    for (let i = 0; i < 64; i += 1) {
      const one = (last + (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) + ((e & f) ^ (~e & g)) + K[i] + words[i]) | 0;
      const two = ((turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) + ((a & b) ^ (a & c) ^ (b & c))) | 0;
      [last, g, f, e, d, c, b, a] = [g, f, e, (d + one) | 0, c, b, a, (one + two) | 0];
    }
    [a, b, c, d, e, f, g, last].forEach((word, at) => { hash[at] = (hash[at] + word) | 0; });
  }
  const result = new DataView(new ArrayBuffer(32));
  hash.forEach((word, at) => result.setInt32(at * 4, word));
  return new Uint8Array(result.buffer);
}
