// What stands in place of hits: a welcome, no hits, an error.
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

/** Before there is a query: what can be done, and some documents to start from. */
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
      "Paste one, drop a file or type a few words: the nearest codes come back as you type. Or start from one of these.",
    ),
    make("div", { class: "starts" }, ...cards),
  );
}

export function showNoDocuments() {
  show(
    "welcome",
    make("h1", {}, "Nothing here yet"),
    make("p", {}, "This collection has no documents. Add one to begin."),
  );
}

/** A query with no hit: `nearest` is how far the nearest document is, null if nothing is near or far. */
export function showNoHits(nearest, radius, widen) {
  if (nearest === null || radius === null) {
    const why =
      "None of these words is among the terms that this collection knows. Other words, or more of them, will do.";
    show("none", make("h2", {}, "Nothing to go by"), make("p", {}, why));
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
