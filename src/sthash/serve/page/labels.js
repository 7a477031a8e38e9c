// The color per label: the same in the hits, on the map and in its legend.

const HUES = 7;
let given = new Map();

/** Assign colors to the first few labels. A label that has a color keeps it. */
export function assign(labels) {
  const wanted = [...new Set(labels.filter((label) => label !== null && label !== undefined))].slice(0, HUES);
  const kept = new Map(wanted.filter((label) => given.has(label)).map((label) => [label, given.get(label)]));
  const free = Array.from({ length: HUES }, (_, hue) => hue).filter((hue) => ![...kept.values()].includes(hue));
  given = new Map(wanted.map((label) => [label, kept.get(label) ?? free.shift()]));
}

/** Return the labels that have a color, in order. */
export const colored = () => [...given.keys()];

/** Return the custom property with the color of a label. */
export const hue = (label) => (given.has(label) ? `--hue-${given.get(label)}` : "--no-hue");

/** Show a label in an element, or hide the element. */
export function showLabel(place, label) {
  place.hidden = label === null || label === undefined || label === "";
  place.querySelector("bdi").textContent = label ?? "";
  place.style.setProperty("--hue", `var(${hue(label)})`);
}
