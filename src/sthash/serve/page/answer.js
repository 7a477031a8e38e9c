// The parts of an answer besides the hits: one line of summary, and the code of the query.
import { bitsOf, strip } from "./bits.js";
import { $, announce, make, number, plural } from "./dom.js";

/** Write the line above the hits. */
export function summarize(text, small = "") {
  $("summary").replaceChildren(text, ...(small ? [make("small", {}, small)] : []));
}

const MAX_OFFSET = 9999; // as the address keeps it
const RANKED_BY = {
  cosine: "cosine",
  ip: "inner product",
  bm25: "BM25",
  graph: "BM25 and the neighbors of a hit",
  hybrid: "words and vectors",
  codes: "the distances of the codes",
};
const FOUND_IN = {
  postings: "the posting lists",
  codes: "the nearest codes",
  cells: "the nearest cells",
  both: "the posting lists and the nearest cells",
};

/** Say how many hits there are and, for those who ask, how they were found. */
export function showSummary(found, { k, offset, radius }) {
  const count = found.hits.length;
  const few = count < k && radius !== null ? " in the ball" : "";
  const range = offset ? `${number(offset + 1)} to ${number(offset + count)}` : number(count);
  const all = found.total === null || (found.total === count && !offset);
  const shown = all && !offset ? plural(count, "hit") : all ? `Hits ${range}` : `${range} of ${plural(found.total, "hit")}`;
  if (count) summarize(`${shown}${few}`, `${found.took_ms.toFixed(1)} ms`);
  else summarize("");
  const last = found.total === null ? count < k : offset + count >= found.total;
  $("pager").hidden = !offset && last;
  $("previous").disabled = !offset;
  $("next").disabled = last || offset + k > MAX_OFFSET;
  $("found").textContent = `Found in ${FOUND_IN[found.strategy]}, ranked by ${RANKED_BY[found.ranking]}.`;
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
  const ball = $("how").open ? $("ball-says").textContent : "";
  announce(`${$("summary").textContent || "No hits"}. ${ball} ${changes}`);
}
