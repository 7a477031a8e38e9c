// The words of a text that matched, marked. The server names stems ("compress", "librari"), the text has words.
import { make } from "./dom.js";

const ENDINGS = [
  ..."e i y s es ed er ers or ors ing ings ion ions ation ations ate ates ated ating ative able ible ably al ally ly".split(
    " ",
  ),
  ..."ment ments ness ful less ity ities ies ied ier ive ively ize izes ized izing ization ous ism ist ant ent ance ence d r".split(
    " ",
  ),
];
const ENDED = `(?:${[...new Set(ENDINGS)].sort((a, b) => b.length - a.length).join("|")}){0,3}`;
const escaped = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");

/** A pattern for words with one of these stems, or null: the stem without its changeable last vowel, and known endings. */
export function pattern(terms) {
  const stems = terms
    .map((term) => term.trim())
    .filter(Boolean)
    .map((term) => {
      const base = term.length > 3 ? term.replace(/[eiy]$/u, "") : term;
      // A last consonant may be doubled before an ending: "stop" is also the stem of "stopping".
      const last = /[bdgklmnprtz]$/u.test(base) ? `${escaped(base.at(-1))}?` : "";
      return `${escaped(term)}|${escaped(base)}${last}${ENDED}`;
    });
  if (!stems.length) return null;
  return new RegExp(`(?<![\\p{L}\\p{N}])(?:${stems.join("|")})(?![\\p{L}\\p{N}])`, "giu");
}

/** Text nodes and <mark>s for a text. */
export function marked(text, terms) {
  const words = pattern(terms);
  if (!words) return [document.createTextNode(text)];
  const parts = [];
  let end = 0;
  for (const found of text.matchAll(words)) {
    parts.push(document.createTextNode(text.slice(end, found.index)), make("mark", {}, found[0]));
    end = found.index + found[0].length;
  }
  parts.push(document.createTextNode(text.slice(end)));
  return parts;
}

const SHOWN = 420;

/** A piece of a text that shows why it matched: from shortly before the first matching word. */
export function snippet(text, terms) {
  const flat = text.slice(0, 200_000).replace(/\s+/gu, " ").trim();
  const first = pattern(terms)?.exec(flat)?.index ?? 0;
  let start = 0;
  if (first > 160 && flat.length > SHOWN) start = flat.lastIndexOf(" ", first - 60) + 1;
  const piece = flat.slice(start, start + SHOWN);
  return `${start ? "… " : ""}${piece}${start + SHOWN < flat.length ? " …" : ""}`;
}
