// The map of the corpus: one dot per document, with the query and its hits.
import { $, color, make, number, plural } from "./dom.js";
import { colored, hue } from "./labels.js";

const MARGIN = 16;
const REACH = 12; // pixels between the pointer and a dot that it selects
const MAX_ZOOM = 40;

let corpus = null; // {points, labels, keys, box}
let shown = { place: null, places: {}, order: [] };
let pointed = null;
let view = { zoom: 1, x: 0.5, y: 0.5 }; // the center, in fractions of the box
let backdrop = null;

/** Return bounds without the outer 0.2 % per side, so that a few outliers do not compress the rest. */
function bounds(values) {
  const sorted = Float64Array.from(values).sort();
  const cut = Math.floor(sorted.length / 500);
  const low = sorted[cut] ?? 0;
  const high = sorted[sorted.length - 1 - cut] ?? 1;
  return high > low ? [low, high] : [low - 1, low + 1];
}

const says = (some, all) => (some < all ? `${number(some)} of ${number(all)}` : plural(some, "document"));
const canvas = () => $("map");
const size = () => ({ width: canvas().clientWidth, height: canvas().clientHeight });
const clamp = (value) => Math.max(0, Math.min(1, value));

function toScreen([x, y]) {
  const { width, height } = size();
  const share = corpus.box.map(([low, high], axis) => clamp(((axis ? y : x) - low) / (high - low)));
  return [
    width / 2 + (share[0] - view.x) * view.zoom * (width - 2 * MARGIN),
    height / 2 - (share[1] - view.y) * view.zoom * (height - 2 * MARGIN),
  ];
}

/** Set the map of a collection with this number of documents. */
export function setCorpus(map, documents) {
  corpus =
    map && map.points.length
      ? { ...map, box: [0, 1].map((axis) => bounds(map.points.map((point) => point[axis]))) }
      : null;
  $("map-card").hidden = !corpus;
  $("map-says").textContent = corpus ? says(corpus.points.length, documents) : "";
  view = { zoom: 1, x: 0.5, y: 0.5 };
  refresh();
}

/** Return the labels of the map, the most frequent first. */
export function commonLabels() {
  const counts = new Map();
  for (const label of corpus?.labels ?? []) if (label) counts.set(label, (counts.get(label) ?? 0) + 1);
  return [...counts].sort((a, b) => b[1] - a[1]).map(([label]) => label);
}

export function setAnswer(answer) {
  shown = {
    place: answer?.place ?? null,
    places: answer?.places ?? {},
    order: answer?.hits.map((hit) => hit.key) ?? [],
  };
  refresh();
}

export function pointAt(key) {
  if (pointed === key) return;
  pointed = key;
  paint();
}

/** Draw everything again, after a change of size, theme, labels or places. */
export function refresh() {
  backdrop = null;
  paint();
  const legend = colored().map((label) => {
    const entry = make("li", {}, make("bdi", {}, label));
    entry.style.setProperty("--hue", `var(${hue(label)})`);
    return entry;
  });
  $("legend").replaceChildren(...legend);
}

function surface(width, height) {
  const made = document.createElement("canvas");
  made.width = Math.max(1, Math.round(width * devicePixelRatio));
  made.height = Math.max(1, Math.round(height * devicePixelRatio));
  const pen = made.getContext("2d");
  pen.scale(devicePixelRatio, devicePixelRatio);
  return [made, pen];
}

function dots() {
  const { width, height } = size();
  const [made, pen] = surface(width, height);
  axes(pen, width, height);
  const many = corpus.points.length;
  const radius = (many > 50000 ? 0.8 : many > 8000 ? 1.2 : 1.6) * Math.min(2, view.zoom ** 0.4);
  const screen = corpus.points.map(toScreen);
  const groups = new Map([["--dot", []], ...colored().map((label) => [hue(label), []])]);
  corpus.labels.forEach((label, at) => (groups.get(hue(label)) ?? groups.get("--dot")).push(at));
  for (const [property, members] of groups) {
    pen.fillStyle = color(property);
    pen.globalAlpha = property === "--dot" ? 0.45 : 0.8;
    pen.beginPath();
    for (const at of members) {
      const [x, y] = screen[at];
      pen.moveTo(x + radius, y);
      pen.arc(x, y, radius, 0, 2 * Math.PI);
    }
    pen.fill();
  }
  return { made, screen, width, height };
}

/** The zero of both axes: where the first two bits change from off to on, or the middle of the corpus. */
function axes(pen, width, height) {
  const [x, y] = toScreen([0, 0]);
  Object.assign(pen, { strokeStyle: color("--line"), fillStyle: color("--soft"), font: "11px sans-serif" });
  pen.setLineDash([3, 4]);
  pen.strokeRect(x, -9, width + 9, height + 18);
  pen.strokeRect(-9, y, width + 18, height + 9);
  pen.setLineDash([]);
  pen.fillText(`${corpus.axes[0]} →`, x + 5, height - 6);
  pen.fillText(`${corpus.axes[1]} ↑`, 5, y - 5);
}

function ring(pen, [x, y], radius, fill, edge, thick) {
  pen.beginPath();
  pen.arc(x, y, radius, 0, 2 * Math.PI);
  Object.assign(pen, { fillStyle: fill, strokeStyle: edge, lineWidth: thick });
  pen.fill();
  pen.stroke();
}

function paint() {
  if (!corpus || !canvas().clientWidth) return;
  if (backdrop?.width !== size().width || backdrop?.height !== size().height) backdrop = null;
  backdrop ??= dots();
  const target = canvas();
  if (target.width !== backdrop.made.width || target.height !== backdrop.made.height) {
    target.width = backdrop.made.width;
    target.height = backdrop.made.height;
  }
  const pen = target.getContext("2d");
  pen.setTransform(1, 0, 0, 1, 0, 0);
  pen.clearRect(0, 0, target.width, target.height);
  pen.drawImage(backdrop.made, 0, 0);
  pen.scale(devicePixelRatio, devicePixelRatio);
  const [accent, paper, ink] = ["--accent", "--surface", "--ink"].map(color);
  const hits = shown.order.filter((key) => shown.places[key]).map((key) => [key, toScreen(shown.places[key])]);
  if (shown.place) {
    const [x, y] = toScreen(shown.place);
    Object.assign(pen, { strokeStyle: accent, lineWidth: 1, globalAlpha: 0.3 });
    pen.beginPath();
    for (const [, [hitX, hitY]] of hits) {
      pen.moveTo(x, y);
      pen.lineTo(hitX, hitY);
    }
    pen.stroke();
    pen.globalAlpha = 1;
  }
  for (const [key, at] of hits.reverse()) if (key !== pointed) ring(pen, at, 4.5, ink, paper, 1.5);
  if (shown.place) {
    const at = toScreen(shown.place);
    pen.globalAlpha = 0.18;
    ring(pen, at, 15, accent, accent, 0);
    pen.globalAlpha = 1;
    ring(pen, at, 6.5, accent, paper, 2.5);
  }
  const over = hits.find(([key]) => key === pointed)?.[1] ?? placeOf(pointed);
  if (over) ring(pen, over, 7, color("--differ"), paper, 2.5);
}

function placeOf(key) {
  const at = key === null ? -1 : corpus.keys.indexOf(key);
  return at < 0 ? null : backdrop.screen[at];
}

function dotNear(x, y) {
  let best = null;
  let least = REACH ** 2;
  const look = (key, [dotX, dotY], bonus) => {
    const far = (dotX - x) ** 2 + (dotY - y) ** 2 - bonus;
    if (far < least) [best, least] = [key, far];
  };
  backdrop?.screen.forEach((place, at) => look(corpus.keys[at], place, 0));
  for (const key of shown.order) if (shown.places[key]) look(key, toScreen(shown.places[key]), 36);
  return best;
}

function zoomBy(factor) {
  view.zoom = Math.max(1, Math.min(MAX_ZOOM, view.zoom * factor));
  if (shown.place && factor > 1 && view.zoom === factor) centerOn(shown.place);
  if (view.zoom === 1) Object.assign(view, { x: 0.5, y: 0.5 });
  refresh();
}

function centerOn([x, y]) {
  [view.x, view.y] = [x, y].map((value, axis) =>
    clamp((value - corpus.box[axis][0]) / (corpus.box[axis][1] - corpus.box[axis][0])),
  );
}

/** Handle the pointer: a click on a dot calls `open(key)`, a dot under the pointer calls `point(key or null)`. */
export function startMap({ open, point }) {
  const tip = $("map-tip");
  let held = null;
  const at = (event) => [event.offsetX, event.offsetY];
  canvas().addEventListener("pointermove", (event) => {
    const [x, y] = at(event);
    const { width, height } = size();
    if (held && view.zoom > 1) {
      view.x = clamp(view.x - (x - held.x) / view.zoom / width);
      view.y = clamp(view.y + (y - held.y) / view.zoom / height);
      Object.assign(held, { x, y, moved: true });
      return refresh();
    }
    const key = dotNear(x, y);
    canvas().classList.toggle("over", key !== null);
    tip.hidden = key === null;
    if (key !== null) {
      const label = corpus.labels[corpus.keys.indexOf(key)];
      tip.replaceChildren(make("bdi", {}, key), ...(label ? [make("small", {}, make("bdi", {}, label))] : []));
      tip.style.translate = `${Math.min(x, width - tip.offsetWidth - 4)}px ${y > height / 2 ? y - tip.offsetHeight - 14 : y + 16}px`;
    }
    pointAt(key);
    return point(key);
  });
  canvas().addEventListener("pointerleave", () => {
    tip.hidden = true;
    held = null;
    pointAt(null);
    point(null);
  });
  canvas().addEventListener("pointerdown", (event) => (held = { x: event.offsetX, y: event.offsetY, moved: false }));
  canvas().addEventListener("pointerup", (event) => {
    const key = held?.moved ? null : dotNear(...at(event));
    held = null;
    if (key !== null) open(key);
  });
  $("zoom-in").addEventListener("click", () => zoomBy(2));
  $("zoom-out").addEventListener("click", () => zoomBy(0.5));
  $("zoom-fit").addEventListener("click", () => zoomBy(0));
  new ResizeObserver(() => paint()).observe(canvas());
  document.documentElement.addEventListener("themechange", refresh);
}
