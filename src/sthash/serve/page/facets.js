// Fields of the documents: to sort by, and to narrow the hits down by their values.
import { $, make, number } from "./dom.js";
import { condition } from "./filters.js";

const MAX_FIELDS = 8; // fewer than MAX_FACETS in limits.py
const MAX_VALUES = 8;
const MAX_CHARACTERS = 100; // of a value
const lists = new Map(); // per known field: whether it holds lists

/** Forget all fields, for another collection. */
export const forgetFields = () => lists.clear();

/** Take note of the fields of some hits. Return whether there are new ones. */
export function learnFields(hits) {
  const before = lists.size;
  const note = (name, value) => {
    if (value === null || lists.size >= 100) return;
    if (Array.isArray(value)) lists.set(name, true);
    else if (typeof value === "object") for (const [own, inner] of Object.entries(value)) note(`${name}.${own}`, inner);
    else if (!lists.has(name)) lists.set(name, false);
  };
  for (const hit of hits) {
    if (hit.label !== null) lists.set("label", false);
    for (const [name, value] of Object.entries(hit.metadata))
      note(name === "label" || name === "key" || name.startsWith("metadata.") ? `metadata.${name}` : name, value);
  }
  return lists.size > before;
}

/** Return the fields whose values are counted. */
export const counted = () => [...lists.keys()].slice(0, MAX_FIELDS);

/** Show what hits can be sorted by, and what they are sorted by: "" for their scores. */
export function showSort(chosen) {
  const names = [...new Set([...lists.keys(), "key", ...(chosen ? [chosen.replace(/^-/u, "")] : [])])];
  const choices = names.flatMap((name) => [
    [name, `${name} ↑`],
    [`-${name}`, `${name} ↓`],
  ]);
  $("sort").replaceChildren(
    ...[["", "relevance"], ...choices].map(([value, text]) => make("option", { value, selected: value === chosen }, text)),
  );
}

/** Show the counts per value of each field. `only(condition)` filters by one. */
export function showFacets(facets, only) {
  // A field whose values are all different, such as a title, narrows nothing down.
  const short = (counts) => counts.filter(({ value }) => String(value).length <= MAX_CHARACTERS);
  const shown = Object.entries(facets ?? {})
    .map(([name, counts]) => [name, short(counts)])
    .filter(([, counts]) => counts.length && (counts[0].count > 1 || counts.length <= MAX_VALUES));
  const button = (name, { value, count }) => {
    const wanted = condition(name, value, lists.get(name) ? " contains " : "=");
    const said = [make("bdi", {}, String(value)), make("small", {}, number(count))];
    return make("button", { type: "button", class: "facet", title: `Only ${wanted}`, onclick: () => only(wanted) }, ...said);
  };
  $("facet-lists").replaceChildren(
    ...shown.map(([name, counts]) =>
      make(
        "li",
        {},
        make("span", { class: "facet-name" }, make("bdi", {}, name)),
        ...counts.slice(0, MAX_VALUES).map((entry) => button(name, entry)),
        counts.length > MAX_VALUES ? make("small", {}, `and ${number(counts.length - MAX_VALUES)} more`) : "",
      ),
    ),
  );
  $("facets-none").hidden = shown.length > 0;
}
