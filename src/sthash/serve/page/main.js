// The whole page: one state, one search at a time, and the display of its answer.
import { announceAnswer, showCode, showSummary, summarize } from "./answer.js";
import * as api from "./api.js";
import { compare, showChanges } from "./changes.js";
import { askKey, showAdd, showDocument, showHelp, startDialogs } from "./dialogs.js";
import { $, announce, debounced, make, plural, toast } from "./dom.js";
import { counted as countedFields, forgetFields, learnFields, showFacets, showSort } from "./facets.js";
import { startDrop } from "./files.js";
import { showFilters, startFilters, toWhere } from "./filters.js";
import { clearHits, fade, markHit, showHits, showSkeleton } from "./hits.js";
import { startKeyboard } from "./keyboard.js";
import { assign, forgetColors } from "./labels.js";
import { commonLabels, pointAt, setAnswer, setCorpus, startMap } from "./map.js";
import { nearest, setCounts, showBall } from "./neighborhood.js";
import { clearState, showError, showNoDocuments, showNoHits, showWelcome } from "./states.js";
import { COUNTS, fromFragment, remember } from "./state.js";
import { showWords } from "./words.js";

const PAUSE = { typing: 160, sliding: 50 };
const SAME_GESTURE = 900; // ms: changes within this time are compared with the hits before the first of them
const TRY_AGAIN = 4000;
const SNIPPET = 320; // characters

const link = fromFragment(location.hash); // what the address asked for when the page was opened
const state = { ...link, collection: null };
let known = []; // the collections
let first = null; // the name of the collection at the start
let writable = false;
let answer = null; // to the last query
let running = null; // the AbortController of the search under way
const baseline = { hits: null, at: 0, what: "" };
let retry = 0;

const collection = () => known.find((one) => one.name === state.collection);
const bits = () => answer?.n_bits ?? collection()?.n_bits ?? 64; // 0 for vectors without codes
const coded = () => bits() > 0;
// A later try may succeed; not so for a search that takes too long.
const passing = (error) => error.status === 0 || (error.status === 503 && error.code !== "too_slow");
// Only the hits of a typed query can be ranked in several ways; codes decide in all other cases.
const ranked = () => state.key === null && state.radius === null && state.rerank && collection()?.kind !== "vectors";
const asked = () => state.key !== null || state.text.trim() !== "";
const later = Object.fromEntries(Object.entries(PAUSE).map(([kind, wait]) => [kind, debounced(() => search(), wait)]));

// Searching

async function search({ silent = false } = {}) {
  Object.values(later).forEach((wait) => wait.cancel());
  clearTimeout(retry);
  running?.abort();
  if (!known.length) return; // the user typed before the list of collections arrived; start() then searches
  if (!asked()) {
    rest();
    return;
  }
  const mine = new AbortController();
  running = mine;
  const { k, offset, radius, rerank } = state;
  const ranking = ranked() ? state.ranking : "auto";
  const what = state.key === null ? { text: state.text } : { key: state.key };
  const waiting = setTimeout(() => silent || busy(true), 150);
  try {
    const body = { ...what, k, offset, radius, rerank, ranking, where: toWhere(state.filters), explain: true };
    Object.assign(body, { snippet: SNIPPET, view: state.how, sort: state.sort || null, collapse: state.collapse });
    if (state.narrow) body.facets = countedFields();
    const onBusy = (seconds) => summarize(`The server is busy. Next try in ${plural(seconds, "second")} …`);
    const found = await api.search(state.collection, body, { signal: mine.signal, onBusy });
    if (mine === running) show(found);
  } catch (error) {
    if (error.name !== "AbortError" && mine === running) fail(error);
  } finally {
    clearTimeout(waiting);
    if (mine === running) busy(false);
  }
}

function busy(on) {
  $("progress").classList.toggle("on", on);
  $("results").setAttribute("aria-busy", String(on));
  if (on && !answer) {
    clearState();
    showSkeleton();
  }
}

function show(found) {
  const changes = baseline.hits && compare(baseline.hits, found.hits);
  answer = found;
  fade(false);
  setCounts(found);
  setAnswer(found);
  clearState();
  const learned = learnFields(found.hits);
  showHits(found, state.offset, changes, { open, like, point: pointAt });
  showFacets(found.facets, only);
  $("narrow").hidden = !found.hits.length;
  showChanges(changes, baseline.what);
  showCode(found);
  showSummary(found, state);
  showWords(found, state.text, (text) => ask({ text }));
  showControls();
  // A query without a known word has no place on the map, and no ball around it holds a document.
  const unlike = found.code == null ? found.unknown.length + found.ignored.length > 0 : found.place === null;
  const about = { found, filtered: state.filters.length > 0 && !unlike, clear: () => filter([]) };
  if (!found.hits.length && state.offset) turn(-Math.ceil(state.offset / state.k)); // fewer than when the link was made
  else if (!found.hits.length) showNoHits(unlike ? null : nearest() ?? 0, state.radius, setRadius, about);
  announceAnswer();
  if (learned && state.narrow) search({ silent: true }); // with counts of the new fields
}

function fail(error) {
  if (answer) fade(true);
  else clearHits();
  showError(error, () => search());
  summarize("");
  announce([error.message, error.remedy].filter(Boolean).join(" "));
  if (passing(error)) retry = setTimeout(() => search({ silent: true }), TRY_AGAIN);
}

/** Show the page without a query. */
async function rest() {
  running = null;
  busy(false);
  answer = null;
  baseline.hits = null;
  clearHits();
  setCounts(null);
  setAnswer(null);
  showCode(null);
  showWords(null);
  $("narrow").hidden = $("pager").hidden = true;
  showControls();
  summarize("");
  showChanges(null);
  if (collection()?.documents === 0) {
    showNoDocuments();
    return;
  }
  showWelcome([], like);
  const name = state.collection;
  try {
    const starts = await Promise.all([0, 1, 2, 3].map(() => api.random(name)));
    if (!asked() && name === state.collection)
      showWelcome([...new Map(starts.map((found) => [found.key, found])).values()], like);
  } catch (error) {
    if (!asked()) fail(error);
  }
}

// Changing the query and its settings

function showControls() {
  showBall(state.radius ?? answer?.radius_used ?? null, state.radius === null, bits());
  $("how").open = state.how;
  $("narrow").open = state.narrow;
  $("collapse").setAttribute("aria-checked", String(state.collapse));
  showSort(state.sort);
  $("rerank").setAttribute("aria-checked", String(state.rerank));
  $("count").value = state.k;
  $("ranking").value = ranked() ? state.ranking : "auto";
  $("ranking").disabled = !ranked();
  $("clear").hidden = !asked();
  showFilters(state.filters, (at) => filter(state.filters.filter((_, other) => other !== at)));
  $("like").hidden = state.key === null;
  $("like").querySelector("bdi").textContent = state.key ?? "";
}

/** Set another query. `step` adds it to the history of the browser; `typed` waits for more input. */
function ask(what, { step = true, typed = false } = {}) {
  Object.assign(state, { text: "", key: null, offset: 0 }, what);
  baseline.hits = null;
  if (!typed) $("query").value = state.text;
  remember(state, known.length > 1, { step });
  showControls();
  if (typed) return later.typing();
  return search();
}

/** Change a setting and show its effect on the hits. */
function change(settings, what) {
  const now = performance.now();
  if (answer && (now - baseline.at > SAME_GESTURE || !baseline.hits)) baseline.hits = answer.hits;
  Object.assign(baseline, { at: now, what });
  Object.assign(state, { offset: 0 }, settings);
  remember(state, known.length > 1);
  showControls();
  later.sliding();
}

const setRadius = (radius) => change({ radius, how: true }, radius === null ? "Auto radius:" : `Radius ${radius}:`);
const filter = (filters) => change({ filters }, filters.length ? `Only ${filters.join(", ")}:` : "Without filters:");
const only = (condition) => state.filters.includes(condition) || filter([...state.filters, condition]);
const setRanking = (ranking) => change({ ranking }, `Ranked by ${$("ranking").selectedOptions[0].text}:`);
/** Show another page of hits. */
function turn(by) {
  state.offset = Math.max(0, state.offset + by * state.k);
  baseline.hits = null;
  remember(state, known.length > 1, { step: true });
  search().then(() => $("results").focus());
}
const setSort = (sort) => change({ sort }, sort ? `Sorted by ${sort.replace(/^-/u, "")}:` : "By relevance:");
const setCollapse = (collapse) => change({ collapse }, collapse ? "Without near-duplicates:" : "With near-duplicates:");
const setRerank = (rerank) => change({ rerank, how: true }, rerank ? "Re-ranked by vectors:" : "By distance alone:");

function widen(by) {
  if (!coded()) return;
  setRadius(Math.max(0, Math.min(bits(), (state.radius ?? answer?.radius_used ?? 0) + by)));
}

/** Show the error of a request other than a search. */
async function trying(action) {
  try {
    return await action();
  } catch (error) {
    toast([error.message, error.remedy].filter(Boolean).join(" "), { kind: "bad" });
    return null;
  }
}

async function like(key) {
  ask({ key });
  window.scrollTo({ top: 0 });
  const name = state.collection;
  const found = await api.document(name, key).catch(() => null); // the search has already shown the error
  if (found && state.key === key && state.collection === name) $("query").value = state.text = found.text;
}

async function random() {
  if (!known.length) return;
  const found = await trying(() => api.random(state.collection));
  if (found) ask({ key: found.key, text: found.text });
}

// Documents

function open(hit) {
  const remove = writable ? () => trying(() => forget(hit.key)) : null;
  showDocument(hit, { terms: hit.terms, like: () => like(hit.key), only, remove });
}

async function openByKey(key) {
  const found =
    answer?.hits.find((hit) => hit.key === key) ?? (await trying(() => api.document(state.collection, key)));
  if (found) open(found);
}

/** Update the number of documents. */
function counted(by) {
  if (collection()) collection().documents += by;
  showFacts();
  drawMap();
}

async function forget(key) {
  await api.remove(state.collection, key);
  toast(`Deleted ${key}.`);
  counted(-1);
  if (state.key === key) ask({});
  else search();
  return true;
}

async function put(given) {
  await api.add(state.collection, [given]);
  counted(1);
  const [found, unknown] = [
    "The hits are its neighbors.",
    "It has no words that a search looks for: no text will find it.",
  ];
  ask({ text: given.text }).then(() => toast(`Added. ${answer?.hits.length ? found : unknown}`));
}

// The page

function showFacts() {
  const one = collection();
  const told = one?.documents != null; // null if its file cannot be read
  $("facts").textContent = told ? plural(one.documents, "document") : "";
}

/** Switch to another collection. */
function enter(name) {
  state.collection = name;
  const one = collection();
  const vectors = one?.takes_texts === false; // and the server has no embedder for texts
  const wordless = vectors && !one.words;
  $("collection").value = name;
  $("query").placeholder = wordless
    ? "This collection holds vectors: start from one of its documents…"
    : "Paste a document, type a few words, or drop a file here…";
  $("query").readOnly = wordless;
  $("open-file").hidden = wordless;
  $("add").hidden = !writable || vectors;
  showFacts();
  forgetColors();
  forgetFields();
  setCorpus(null);
  answer = null;
  withoutBall();
  drawMap();
}

/** Leave out what is about codes, if the collection has none. */
function withoutBall() {
  document.body.classList.toggle("no-codes", !coded());
  if (!coded()) Object.assign(state, { radius: null, rerank: true });
}

async function drawMap() {
  const name = state.collection;
  const map = await api.map(name).catch(() => null); // the page works without a map
  if (state.collection !== name) return;
  setCorpus(map, collection()?.documents ?? 0);
  assign(commonLabels());
  setAnswer(answer);
}

/** The collection that an address names, if there is one of that name. */
const named = (said) => (known.some((one) => one.name === said.collection) ? said.collection : null);

/** Show what the address asks for. */
async function follow() {
  const said = fromFragment(location.hash);
  const name = named(said) ?? state.collection ?? first;
  const moved = name !== state.collection;
  Object.assign(state, said, { collection: state.collection });
  if (moved) enter(name);
  else withoutBall();
  baseline.hits = null;
  $("query").value = state.text;
  showControls();
  search();
  if (state.key === null) return;
  const found = await api.document(name, state.key).catch(() => null);
  if (found?.key === state.key) $("query").value = state.text = found.text;
}

async function start() {
  try {
    const told = await api.collections();
    ({ collections: known, writable } = told);
    first = told.default ?? known[0]?.name ?? null;
    $("collection").replaceChildren(...known.map((one) => make("option", {}, one.name)));
    $("collection").disabled = known.length < 2;
    $("random").disabled = !known.length; // before, a click would have no effect
    if (!known.length) showNoDocuments();
    else if (state.text !== link.text) {
      enter(named(link) ?? first); // the user has typed meanwhile
      search();
    } else follow();
  } catch (error) {
    showError(error, start);
    if (passing(error)) retry = setTimeout(start, TRY_AGAIN);
  }
}

function wire() {
  $("query").addEventListener("input", () => ask({ text: $("query").value }, { step: false, typed: true }));
  $("skip").addEventListener("click", (event) => {
    event.preventDefault(); // the part after # is the query
    $("results").focus();
  });
  $("random").addEventListener("click", random);
  $("clear").addEventListener("click", () => (ask({}), $("query").focus()));
  $("unlike").addEventListener("click", () => (ask({ text: $("query").value }), $("query").focus()));
  $("radius").addEventListener("input", () => setRadius(Number($("radius").value)));
  $("auto").addEventListener("click", () => setRadius(state.radius === null ? (answer?.radius_used ?? 0) : null));
  $("rerank").addEventListener("click", () => setRerank(!state.rerank));
  $("count").addEventListener("change", () =>
    change({ k: COUNTS[$("count").selectedIndex] }, `${$("count").value} hits:`),
  );
  $("ranking").addEventListener("change", () => setRanking($("ranking").value));
  $("sort").addEventListener("change", () => setSort($("sort").value));
  $("previous").addEventListener("click", () => turn(-1));
  $("next").addEventListener("click", () => turn(1));
  $("collapse").addEventListener("click", () => setCollapse(!state.collapse));
  $("narrow").addEventListener("toggle", () => {
    if ($("narrow").open === state.narrow) return;
    state.narrow = $("narrow").open;
    remember(state, known.length > 1);
    if (state.narrow) search();
  });
  $("collection").addEventListener("change", () => {
    enter($("collection").value);
    ask({ radius: null, filters: [], sort: "" });
  });
  $("add").addEventListener("click", () => showAdd(state.key === null ? state.text : "", put));
  $("help").addEventListener("click", showHelp);
  $("how").addEventListener("toggle", () => {
    if ($("how").open === state.how) return;
    state.how = $("how").open;
    remember(state, known.length > 1);
    if (state.how) search();
    setAnswer(answer); // the map had no size
  });
  if (matchMedia("(max-width: 60rem)").matches) $("map-card").open = false;
  $("map-card").addEventListener("toggle", () => setAnswer(answer));
  window.addEventListener("popstate", follow);
  window.addEventListener("online", () => $("state").classList.contains("bad") && search());
  startDrop((text) => ask({ text }));
  startFilters(only);
  startDialogs();
  startMap({ open: openByKey, point: markHit });
  startKeyboard({ random, help: showHelp, widen, rerank: () => coded() && setRerank(!state.rerank) });
  api.onKeyNeeded(askKey);
  showControls();
}

wire();
start();
