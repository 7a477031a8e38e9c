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

/** Return the snippet of a hit as text nodes and <mark> elements. Its spans count characters, not UTF-16 units. */
export function passage(hit) {
  const { text, spans, start } = hit.snippet;
  const characters = [...text];
  const between = (from, to) => characters.slice(from, to).join("").replace(/\s+/gu, " ");
  const parts = [start ? "… " : ""];
  let end = 0;
  for (const [left, right] of spans) {
    parts.push(between(end, left), make("mark", {}, between(left, right)));
    end = right;
  }
  parts.push(between(end), start + characters.length < [...hit.text.trimEnd()].length ? " …" : "");
  return parts;
}
