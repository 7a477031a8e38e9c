// What became of the words of a query: those that were ignored, those that no document has, and what may be meant.
import { $, make } from "./dom.js";

const MANY = 12;

function list(words) {
  const some = words.slice(0, MANY).flatMap((word, at) => [at ? ", " : "", make("bdi", {}, word)]);
  return words.length > MANY ? [...some, ` and ${words.length - MANY} more`] : some;
}

/** Show the words. `replace(word, by)` changes the query. */
export function showWords(found, replace) {
  const lines = [];
  const suggestions = Object.entries(found?.suggestions ?? {}).filter(([, known]) => known.length);
  if (found?.unknown?.length) lines.push(make("li", { class: "unknown" }, "In no document: ", ...list(found.unknown)));
  for (const [word, known] of suggestions.slice(0, MANY)) {
    const choices = known.map((one) =>
      make("button", { type: "button", class: "suggestion", onclick: () => replace(word, one) }, make("bdi", {}, one)),
    );
    lines.push(make("li", { class: "suggested" }, "Instead of ", make("bdi", {}, word), ": ", ...choices));
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
