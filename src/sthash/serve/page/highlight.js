// Marks the words of a text that matched. The server returns stems ("compress", "librari"); the text has words.
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

/** Return a pattern for words with one of these stems: the stem without its last vowel, and known endings. */
export function pattern(terms) {
  const stems = terms
    .map((term) => term.trim())
    .filter(Boolean)
    .map((term) => {
      const base = term.length > 3 ? term.replace(/[eiy]$/u, "") : term;
      // The last consonant may be doubled before an ending: "stop" is the stem of "stopping".
      const last = /[bdgklmnprtz]$/u.test(base) ? `${escaped(base.at(-1))}?` : "";
      return `${escaped(term)}|${escaped(base)}${last}${ENDED}`;
    });
  if (!stems.length) return null;
  return new RegExp(`(?<![\\p{L}\\p{N}])(?:${stems.join("|")})(?![\\p{L}\\p{N}])`, "giu");
}

/** Return a text as text nodes and <mark> elements. */
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
const SEEN = 300; // about this many characters fit into the visible lines

/** Return the first start position from which most of the different matching words are visible. */
function bestPlace(text, words) {
  const found = [...text.matchAll(words)].slice(0, 2000);
  let [best, most] = [0, 0];
  found.forEach((first, at) => {
    const seen = new Set();
    for (let next = at; next < found.length && found[next].index < first.index + SEEN; next += 1)
      seen.add(found[next][0].toLowerCase());
    if (seen.size > most) [best, most] = [first.index, seen.size];
  });
  return best;
}

/** Return a part of a text that shows why it matched. */
export function snippet(text, terms) {
  const flat = text.slice(0, 200_000).replace(/\s+/gu, " ").trim();
  const words = pattern(terms);
  const first = words && flat.length > SEEN ? bestPlace(flat, words) : 0;
  const start = first > SEEN / 2 ? flat.lastIndexOf(" ", first - 40) + 1 : 0;
  return `${start ? "… " : ""}${flat.slice(start, start + SHOWN)}${start + SHOWN < flat.length ? " …" : ""}`;
}
