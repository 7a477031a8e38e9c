// What the page shows instead of hits: a welcome, no hits, an error.
import { $, make, plural } from "./dom.js";

function show(kind, ...children) {
  const place = $("state");
  place.className = `state ${kind}`;
  place.replaceChildren(...children);
  place.hidden = false;
}

export function clearState() {
  $("state").hidden = true;
}

/** Before the first query: what to do, and some documents to start from. */
export function showWelcome(starts, like) {
  const first = (text) => text.replace(/\s+/gu, " ").trim().slice(0, 400);
  const cards = starts.map((start) =>
    make(
      "button",
      { type: "button", class: "start", onclick: () => like(start.key) },
      make("strong", {}, make("bdi", {}, start.key)),
      make("span", { dir: "auto" }, first(start.text) || "no text"),
    ),
  );
  show(
    "welcome",
    make("h1", {}, "Find documents by what they are about"),
    make(
      "p",
      {},
      "Paste a document, drop a file, or type a few words. The hits appear as you type. Or start from one of these:",
    ),
    make("div", { class: "starts" }, ...cards),
  );
}

export function showNoDocuments() {
  show(
    "welcome",
    make("h1", {}, "No documents yet"),
    make("p", {}, "This collection is empty. Add a document to begin."),
  );
}

/** A query without hits. `nearest` is the distance of the nearest document, or null if no word is known. */
export function showNoHits(nearest, radius, widen, { found, filtered, clear }) {
  if (filtered) {
    show(
      "none",
      make("h2", {}, "No document with these filters"),
      make("p", {}, "No document meets all of them, or none of those that do is like the query."),
      make("button", { type: "button", class: "primary", onclick: clear }, "Search without filters"),
    );
    return;
  }
  if (nearest === null && found.ignored.length && !found.unknown.length) {
    const why = "Add a word that tells what it is about.";
    show("none", make("h2", {}, "Only common words"), make("p", {}, why));
    return;
  }
  if (nearest === null) {
    const why = "Try other words, or more of them.";
    show("none", make("h2", {}, "No known words"), make("p", {}, why));
    return;
  }
  if (radius === null) {
    const why = "No document has all that the query requires. Leave out a +word, a -word or a phrase.";
    show("none", make("h2", {}, "No such document"), make("p", {}, why));
    return;
  }
  show(
    "none",
    make("h2", {}, `No document within ${plural(radius, "bit")}`),
    make("p", {}, `The nearest one is ${plural(nearest, "bit")} away.`),
    make(
      "button",
      { type: "button", class: "primary", onclick: () => widen(nearest) },
      `Widen the ball to ${plural(nearest, "bit")}`,
    ),
  );
}

export function showError(error, again) {
  show(
    "bad",
    make("h2", {}, error.message),
    ...(error.remedy ? [make("p", {}, error.remedy)] : []),
    make("button", { type: "button", class: "primary", onclick: again }, "Try again"),
  );
}
