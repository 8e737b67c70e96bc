// The code of a ticket: read from a text or a picture.

import { readCode } from "./qr.js";

const ID = "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}";
const LINK = new RegExp(`/tickets/(${ID})/admissions$`, "i");
/** Large enough for each module of a code, and fast. */
const WIDTH = 800;

/** The ticket of a text: an id, or the link in a code. Null if it is neither. */
export function ticketIn(text) {
  const found = text.trim();
  if (new RegExp(`^${ID}$`, "i").test(found)) return { id: found };
  const link = URL.canParse(found, location.href) ? new URL(found, location.href) : null;
  const id = link?.pathname.match(LINK)?.[1];
  return id ? { id, code: link.searchParams.get("code") ?? undefined } : null;
}

/** The detector of the browser, if it has one that knows QR codes. */
const detector = "BarcodeDetector" in globalThis
  ? BarcodeDetector.getSupportedFormats().then((formats) => (formats.includes("qr_code") ? new BarcodeDetector({ formats: ["qr_code"] }) : null)).catch(() => null)
  : Promise.resolve(null);

const canvas = document.createElement("canvas");

/** The text of the QR code in a picture; null if there is none. */
export async function textIn(source, width, height) {
  if (!width || !height) return null;
  const own = await detector;
  if (own) {
    const [first] = await own.detect(source).catch(() => []);
    if (first) return first.rawValue;
  }
  const scale = Math.min(1, WIDTH / Math.max(width, height));
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(height * scale);
  const context = canvas.getContext("2d", { willReadFrequently: true });
  // A picture may be transparent where the paper is.
  context.fillStyle = "#fff";
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.drawImage(source, 0, 0, canvas.width, canvas.height);
  return readCode(context.getImageData(0, 0, canvas.width, canvas.height));
}
