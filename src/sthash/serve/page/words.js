// What became of the words of a query: those that were ignored, those that no document has, and what may be meant.
import { $, make } from "./dom.js";

const MANY = 12;
const READ_AS = {
  strict: "Read with its operators.",
  relaxed: "No document meets the operators of the query. It was read as words.",
};

function list(words) {
  const some = words.slice(0, MANY).flatMap((word, at) => [at ? ", " : "", make("bdi", {}, word)]);
  return words.length > MANY ? [...some, ` and ${words.length - MANY} more`] : some;
}

/** Show the words of the query `text`. `search(text)` asks another one. */
export function showWords(found, text, search) {
  const lines = [];
  const corrected = Object.entries(found?.corrected ?? {});
  const suggestions = Object.entries(found?.suggestions ?? {}).filter(([word, known]) => known.length && !found.corrected?.[word]);
  const unknown = (found?.unknown ?? []).filter((word) => !found.suggestions?.[word]?.length);
  if (READ_AS[found?.reading]) lines.push(make("li", { class: "reading" }, READ_AS[found.reading]));
  if (unknown.length) lines.push(make("li", { class: "unknown" }, "In no document: ", ...list(unknown)));
  for (const [word, known] of corrected.slice(0, MANY))
    lines.push(make("li", { class: "corrected" }, "In no document: ", make("bdi", {}, word), ". Searched for ", make("bdi", {}, known)));
  for (const [word, known] of suggestions.slice(0, MANY)) {
    const choices = known.map((one) =>
      make("button", { type: "button", class: "suggestion", onclick: () => search(replaced(text, word, one)) }, make("bdi", {}, one)),
    );
    lines.push(make("li", { class: "suggested" }, "In no document: ", make("bdi", {}, word), ". Did you mean ", ...choices, "?"));
  }
  if (suggestions.length > 1) {
    const meant = suggestions.reduce((query, [word, [first]]) => replaced(query, word, first), text);
    const link = make("button", { type: "button", class: "meant", onclick: () => search(meant) }, make("bdi", {}, meant));
    lines.push(make("li", {}, "Search for ", link, " instead"));
  }
  if (found?.ignored?.length) lines.push(make("li", { class: "ignored" }, "Too common to count: ", ...list(found.ignored)));
  $("words").replaceChildren(...lines);
  $("words").hidden = !lines.length;
}

/** Return a text with one word replaced, wherever it is a whole word. */
export function replaced(text, word, by) {
  const escaped = word.replace(/[.*+?^${}()|[\]\\]/gu, "\\$&");
  return text.replace(new RegExp(`(?<![\\p{L}\\p{N}])${escaped}(?![\\p{L}\\p{N}])`, "giu"), () => by);
}
