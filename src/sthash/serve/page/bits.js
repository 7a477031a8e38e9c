// Codes as strips of bits.
import { draw, number } from "./dom.js";

/** Return the bits of a hexadecimal code: bit p is bit p % 8 of byte p // 8. */
export function bitsOf(hex, count) {
  return Array.from({ length: count }, (_, p) => {
    const byte = parseInt(hex.slice(2 * (p >> 3), 2 * (p >> 3) + 2), 16);
    return (byte >> (p & 7)) & 1;
  });
}

/** Return the positions where two codes differ. */
export function differing(left, right) {
  return left.flatMap((bit, place) => (bit === right[place] ? [] : [place]));
}

const PITCH = 8; // width of a bit with its gap, in pixels; there are more pixels after each byte
const TALL = 14;

/**
 * Draw a strip as SVG. It has one path per kind of bit, so that a page of long codes stays fast.
 *
 * Bits that differ from the query have another height, and are filled or hollow: color is not the only sign.
 */
export function strip(bits, query = bits) {
  const perRow = bits.length > 256 ? 128 : 64;
  const rows = Math.ceil(bits.length / perRow);
  const paths = { off: "", on: "", "differ-off": "", "differ-on": "" };
  bits.forEach((bit, place) => {
    const column = place % perRow;
    const x = column * PITCH + 2 * (column >> 3);
    const y = Math.floor(place / perRow) * (TALL + 3);
    const differs = bit !== query[place];
    const kind = `${differs ? "differ-" : ""}${bit ? "on" : "off"}`;
    if (kind === "differ-off") paths[kind] += `M${x + 0.75} ${y + 0.75}h5.5v${TALL - 1.5}h-5.5z`;
    else if (differs) paths[kind] += `M${x} ${y}h7v${TALL}h-7z`;
    else paths[kind] += `M${x} ${y + 3}h7v${TALL - 6}h-7z`;
  });
  const shown = Math.min(bits.length, perRow);
  const width = shown * PITCH + 2 * ((shown - 1) >> 3) - 1;
  const height = rows * (TALL + 3) - 3;
  const places = differing(bits, query);
  const says = `${places.length} of ${number(bits.length)} bits differ${places.length ? `: ${places.join(", ")}` : ""}`;
  return draw(
    "svg",
    {
      class: "strip",
      viewBox: `0 0 ${width} ${height}`,
      width,
      height,
      role: "img",
      "aria-label": query === bits ? "code" : says,
    },
    ...Object.entries(paths)
      .filter(([, d]) => d)
      .map(([kind, d]) => draw("path", { class: kind, d })),
  );
}
