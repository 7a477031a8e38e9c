// The histogram of the Hamming neighborhood: the number of documents per distance, and the ball.
import { $, draw, number, plural } from "./dom.js";

const WIDTH = 360;
const HEIGHT = 110;
const INSET = 8; // half the width of the slider's thumb, so that a bar is above its radius

let counts = null;
let marks = [];

const last = () => counts.length - 1;
const along = (distance) => INSET + (distance / last()) * (WIDTH - 2 * INSET);

/** Return the number of documents within a radius. */
export const within = (radius) => (counts ? counts.slice(0, radius + 1).reduce((sum, count) => sum + count, 0) : 0);

/** Return the distance of the nearest document, or null. */
export function nearest() {
  const at = counts ? counts.findIndex((count) => count > 0) : -1;
  return at < 0 ? null : at;
}

/** Set the counts of an answer. */
export function setCounts(answer) {
  counts = answer?.counts ?? null;
  marks = answer ? answer.hits.map((hit) => hit.distance) : [];
}

/** Draw the histogram and the ball. `auto` says that the user has not set the radius. Without bits, draw nothing. */
export function showBall(radius, auto, bits) {
  if (!bits) {
    $("ball-says").textContent = "";
    return;
  }
  const slider = $("radius");
  slider.max = bits;
  $("axis-end").textContent = bits;
  $("auto").setAttribute("aria-pressed", String(auto));
  $("radius-shown").textContent = radius === null ? "auto" : `${auto ? "auto · " : ""}${plural(radius, "bit")}`;
  slider.classList.toggle("auto", auto);
  slider.value = radius ?? 0;
  slider.style.setProperty("--share", `${(100 * (radius ?? 0)) / bits}%`);
  slider.setAttribute("aria-valuetext", radius === null ? "auto" : plural(radius, "bit"));
  const picture = $("histogram");
  if (!counts) {
    picture.replaceChildren(...rest(bits));
    picture.setAttribute("aria-label", "No query yet");
    $("ball-says").textContent = "Number of documents per Hamming distance to the query. Type a query to see it.";
    return;
  }
  const inside = within(radius);
  const share = inside / Math.max(1, within(last()));
  const percent = share >= 0.1 || share === 0 ? `${Math.round(100 * share)} %` : `${(100 * share).toFixed(1)} %`;
  $("ball-says").textContent =
    `The ball holds ${number(inside)} of ${plural(within(last()), "document")} (${percent}).`;
  picture.setAttribute(
    "aria-label",
    `${$("ball-says").textContent} The nearest is ${plural(nearest() ?? 0, "bit")} away.`,
  );
  picture.replaceChildren(...bars(radius));
}

function bars(radius) {
  const top = Math.log1p(Math.max(...counts, 1));
  const width = Math.max(1, (WIDTH - 2 * INSET) / last() - 1.2);
  const edge = along(radius) + (WIDTH - 2 * INSET) / last() / 2;
  const parts = [draw("rect", { class: "shade", x: 0, y: 0, width: Math.min(edge, WIDTH), height: HEIGHT })];
  for (let ten = 1; Math.log1p(ten) < top; ten *= 10) {
    const y = HEIGHT - (Math.log1p(ten) / top) * (HEIGHT - 14);
    parts.push(draw("line", { class: "grid", x1: 0, x2: WIDTH, y1: y, y2: y }));
  }
  counts.forEach((count, distance) => {
    if (!count) return;
    const height = (Math.log1p(count) / top) * (HEIGHT - 14);
    const kind = `column${distance <= radius ? " inside" : ""}${marks.includes(distance) ? " hit-here" : ""}`;
    const place = { x: along(distance) - width / 2, y: HEIGHT - height, width, height };
    const title = draw("title", {}, `${plural(count, "document")} at ${plural(distance, "bit")}`);
    parts.push(draw("rect", { class: kind, ...place }, title));
  });
  return parts;
}

/** Draw the neighborhood of random codes, as a preview before the first query. */
function rest(bits) {
  const all = Array.from({ length: bits + 1 }, (_, at) => Math.exp(-((at - bits / 2) ** 2) / (bits * 1.6)));
  const pitch = (WIDTH - 2 * INSET) / bits;
  return all.map((share, at) => {
    const height = Math.max(2, share * (HEIGHT - 30));
    const place = { x: INSET + at * pitch - pitch * 0.4, y: HEIGHT - height, width: pitch * 0.8, height };
    return draw("rect", { class: "column ghost", ...place });
  });
}
