// Filters: conditions as people write them, as the API takes them, and as the page shows them.
import { $, make } from "./dom.js";

const HELP = "Write FIELD=VALUE, FIELD!=VALUE, FIELD>=VALUE, FIELD in A,B, FIELD contains VALUE, FIELD exists, FIELD or !FIELD.";
const OPERATOR = /^(.*?)(?:\s*(!=|>=|<=|==?|>|<)\s*|\s+(not\s+in|in|contains)\s+)(.*)$/su;
const EXISTS = /^(.+?)\s+(not\s+)?exists$/su;

/** Return what a word can stand for: itself as text first, what it looks like last. */
function meanings(word) {
  if (word.length >= 2 && word.startsWith('"') && word.endsWith('"')) return [word.slice(1, -1)];
  if (word === "true" || word === "false") return [word, word === "true"];
  return word !== "" && Number.isFinite(Number(word)) ? [word, Number(word)] : [word];
}

const listed = (words) =>
  [...words.matchAll(/\s*("[^"]*"|[^,]+)\s*(?:,|$)/gu)].flatMap(([, word]) => meanings(word.trim()));

/** Return field, operator and value of a condition; throws an Error that says what is wrong. */
function parts(condition) {
  const text = condition.trim();
  const exists = EXISTS.exec(text);
  if (exists) return [exists[1].trim(), "exists", !exists[2]];
  const found = OPERATOR.exec(text);
  const field = (found ? found[1] : text.replace(/^!/u, "")).trim();
  if (!field || (!found && /\s/u.test(field))) throw new Error(`“${text}” is not a valid condition. ${HELP}`);
  if (!found) return [field, text.startsWith("!") ? "not in" : "in", ["true", true]];
  const value = found[4].trim();
  if (!value && found[3]) throw new Error(`“${text}” has no value. ${HELP}`);
  if (found[3] === "contains") return [field, "contains", [meanings(value).at(-1)]];
  if (found[3]) return [field, found[3].replace(/\s+/gu, " "), listed(value)];
  if (found[2] === "!=") return [field, "not in", meanings(value)];
  if (found[2].startsWith("=")) return [field, "in", meanings(value)];
  return [field, found[2], meanings(value).at(-1)];
}

/** Return conditions as the field `where` of a request; null if there are none. */
export function toWhere(conditions) {
  if (!conditions.length) return null;
  const wanted = Object.create(null); // a field may have any name, also __proto__
  for (const condition of conditions) {
    const [field, sign, value] = parts(condition);
    const own = (wanted[field] ??= {});
    own[sign] = Array.isArray(value) ? [...(own[sign] ?? []), ...value] : value;
  }
  // A list alone means the same as "in".
  for (const [field, own] of Object.entries(wanted))
    if (Object.keys(own).join() === "in") wanted[field] = own.in;
  return wanted;
}

/** Return the condition that a field has a value or, with the sign " contains ", that its list has it. */
export function condition(field, value, sign = "=") {
  const plain = typeof value !== "string" || (meanings(value).length === 1 && !/^\s|\s$|^$|"/u.test(value));
  return `${field}${sign}${plain ? value : `"${value}"`}`;
}

/** Show the filters. `remove(position)` is called when one is taken away. */
export function showFilters(conditions, remove) {
  $("filters").replaceChildren(
    ...conditions.map((text, at) =>
      make(
        "li",
        { class: "like-chip" },
        make("bdi", {}, text),
        make("button", { type: "button", "aria-label": `Remove the filter ${text}`, onclick: () => remove(at) }, "×"),
      ),
    ),
  );
}

/** Call `add(condition)` for each filter that the user writes, or say what is wrong with it. */
export function startFilters(add) {
  const say = (text) => {
    $("filter-problem").textContent = text;
    $("filter-problem").hidden = !text;
  };
  $("filter").addEventListener("input", () => say(""));
  $("filter-form").addEventListener("submit", (event) => {
    event.preventDefault();
    const text = $("filter").value.trim();
    if (!text) return;
    try {
      toWhere([text]);
    } catch (error) {
      say(error.message);
      return;
    }
    $("filter").value = "";
    add(text);
  });
}
