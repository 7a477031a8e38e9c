// Which label has which colour: the same in the hits, on the map and in its legend.

const HUES = 7;
let given = new Map();

/** Give colours to the first few of some labels; a label that had one keeps it. */
export function assign(labels) {
  const wanted = [...new Set(labels.filter((label) => label !== null && label !== undefined))].slice(0, HUES);
  const kept = new Map(wanted.filter((label) => given.has(label)).map((label) => [label, given.get(label)]));
  const free = Array.from({ length: HUES }, (_, hue) => hue).filter((hue) => ![...kept.values()].includes(hue));
  given = new Map(wanted.map((label) => [label, kept.get(label) ?? free.shift()]));
}

/** The labels that have a colour, in their order. */
export const coloured = () => [...given.keys()];

/** The custom property with a label's colour. */
export const hue = (label) => (given.has(label) ? `--hue-${given.get(label)}` : "--no-hue");

/** Show a label in its place, or nothing. */
export function showLabel(place, label) {
  place.hidden = label === null || label === undefined || label === "";
  place.querySelector("bdi").textContent = label ?? "";
  place.style.setProperty("--hue", `var(${hue(label)})`);
}
