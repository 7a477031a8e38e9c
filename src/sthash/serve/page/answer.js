// The parts of an answer besides the hits: one line of summary, and the code of the query.
import { bitsOf, strip } from "./bits.js";
import { $, announce, make, plural } from "./dom.js";

/** Write the line above the hits. */
export function summarize(text, small = "") {
  $("summary").replaceChildren(text, ...(small ? [make("small", {}, small)] : []));
}

const ORDERS = { cosine: "by cosine", ip: "by inner product", bm25: "by BM25", graph: "by BM25 and neighborhood", hybrid: "by words and vectors" };

/** Say how many hits there are, and how they are sorted. */
export function showSummary(found, { k, radius, rerank }) {
  const count = found.hits.length;
  const few = count < k && radius !== null ? " in the ball" : "";
  const order = rerank ? (ORDERS[found.ranking ?? "cosine"] ?? `by ${found.ranking}`) : "by distance";
  if (count) summarize(`${plural(count, "hit")}${few}, ${order}`, `${found.took_ms.toFixed(1)} ms, by ${found.strategy}`);
  else summarize("");
}

/** Draw the code of the query, or remove it: not every query has one. */
export function showCode(found) {
  $("code").hidden = !found?.code;
  if (!found?.code) return;
  $("code")
    .querySelector(".strip-holder")
    .replaceChildren(strip(bitsOf(found.code, found.n_bits)));
  $("code").querySelector("code").textContent = found.code.length > 32 ? `${found.code.slice(0, 32)}…` : found.code;
}

/** Announce the answer to screen readers. */
export function announceAnswer() {
  const changes = $("changes").hidden ? "" : $("changes").textContent;
  announce(`${$("summary").textContent || "No hits"}. ${$("ball-says").textContent} ${changes}`);
}
