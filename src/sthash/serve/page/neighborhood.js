// The picture of the Hamming neighbourhood: how many documents there are at each distance, and the ball in it.
import { $, draw, number, plural } from "./dom.js";

const WIDTH = 360;
const HEIGHT = 110;
const INSET = 8; // half a slider's thumb, so that a bar stands above the place of its radius

let counts = null;
let marks = [];

const last = () => counts.length - 1;
const along = (distance) => INSET + (distance / last()) * (WIDTH - 2 * INSET);

/** Documents within a radius. */
export const within = (radius) => (counts ? counts.slice(0, radius + 1).reduce((sum, count) => sum + count, 0) : 0);

/** The least distance at which there is a document, or null. */
export function nearest() {
  const at = counts ? counts.findIndex((count) => count > 0) : -1;
  return at < 0 ? null : at;
}

/** Take the counts of an answer; `distances` are those of its hits. */
export function setCounts(answer) {
  counts = answer?.counts ?? null;
  marks = answer ? answer.hits.map((hit) => hit.distance) : [];
}

/** Draw it with a ball; `auto` tells that the radius was not chosen. */
export function showBall(radius, auto, bits) {
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
    $("ball-says").textContent = "How many documents differ from the query in how many bits. Ask for something to see.";
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

/** What a neighbourhood of unrelated codes would look like: a hint of the picture before there is one. */
function rest(bits) {
  const all = Array.from({ length: bits + 1 }, (_, at) => Math.exp(-((at - bits / 2) ** 2) / (bits * 1.6)));
  const pitch = (WIDTH - 2 * INSET) / bits;
  return all.map((share, at) => {
    const height = Math.max(2, share * (HEIGHT - 30));
    const place = { x: INSET + at * pitch - pitch * 0.4, y: HEIGHT - height, width: pitch * 0.8, height };
    return draw("rect", { class: "column ghost", ...place });
  });
}
