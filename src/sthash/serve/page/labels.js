// The color per label: the same in the hits, on the map and in its legend, and the same for every query.

const HUES = 7;
const given = new Map();

/** Forget all colors, for another collection. */
export const forgetColors = () => given.clear();

/** Give colors to labels, the first ones first, for as long as there are colors. A label that has one keeps it. */
export function assign(labels) {
  for (const label of labels) if (given.size < HUES && !given.has(label)) given.set(label, given.size);
  for (const place of document.querySelectorAll(".label")) paint(place, place.querySelector("bdi").textContent);
}

/** Return the labels that have a color, in order. */
export const colored = () => [...given.keys()];

/** Return the custom property with the color of a label. */
export const hue = (label) => (given.has(label) ? `--hue-${given.get(label)}` : "--no-hue");

const paint = (place, label) => place.style.setProperty("--hue", `var(${hue(label)})`);

/** Show a label in an element, or hide the element. */
export function showLabel(place, label) {
  place.hidden = label === null || label === undefined || label === "";
  place.querySelector("bdi").textContent = label ?? "";
  paint(place, label);
}
