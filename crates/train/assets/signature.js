// Signatures of Standard Webhooks. Without the browser's own functions, which exist only on https and on this machine.

import { plain } from "./sha256.js";

const BLOCK = 64;
const bytes = (text) => new TextEncoder().encode(text);
const joined = (...parts) => Uint8Array.from(parts.flatMap((part) => [...part]));

/** HMAC-SHA256 (RFC 2104). */
function hmac(key, message) {
  const padded = new Uint8Array(BLOCK);
  padded.set(key.length > BLOCK ? plain(key) : key);
  const inner = plain(joined(padded.map((byte) => byte ^ 0x36), message));
  return plain(joined(padded.map((byte) => byte ^ 0x5c), inner));
}

/** The signature that a message must have: v1 and the base64 of the HMAC over id, time and body. */
export function signature(secret, id, time, body) {
  const key = Uint8Array.from(atob(secret.replace(/^whsec_/, "")), (letter) => letter.charCodeAt(0));
  return `v1,${btoa(String.fromCharCode(...hmac(key, bytes(`${id}.${time}.${body}`))))}`;
}

/** Whether one of the signatures of a message is right. */
export function isSigned(secret, { id, time, signatures, body }) {
  const expected = signature(secret, id, time, body);
  return signatures.split(" ").includes(expected);
}
