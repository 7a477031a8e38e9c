// The list of hits.
import { bitsOf, strip } from "./bits.js";
import { showMove } from "./changes.js";
import { $, calm, make, plural } from "./dom.js";
import { passage } from "./highlight.js";
import { showLabel } from "./labels.js";

const list = () => $("hits");

function fill(item, hit, rank, query, move, answer) {
  const part = (selector) => item.querySelector(selector);
  item.dataset.key = hit.key;
  part(".rank").textContent = rank + 1;
  const title = typeof hit.metadata.title === "string" ? hit.metadata.title.trim() : "";
  part(".key bdi").textContent = title || hit.key;
  part(".document-key").hidden = !title;
  part(".document-key bdi").textContent = hit.key;
  showLabel(part(".label"), hit.label);
  part(".copies").hidden = !hit.copies.length;
  part(".copies").textContent = `and ${plural(hit.copies.length, "near-duplicate")}`;
  part(".copies").title = hit.copies.slice(0, 20).join(", ");
  showMove(part(".move"), move);
  part(".snippet").replaceChildren(...(hit.snippet.text ? passage(hit) : [make("em", {}, "no text")]));
  part(".strip-holder").replaceChildren(...(query && hit.code ? [strip(bitsOf(hit.code, query.length), query)] : []));
  part(".terms").replaceChildren(...hit.terms.map((term) => make("li", {}, make("bdi", {}, term))));
  part(".cosine dd").textContent = hit.score.toFixed(3);
  // Other scores than cosines have no largest value: the first hit is the measure.
  const cosine = (answer.ranking ?? "cosine") === "cosine";
  part(".score-name").textContent = cosine ? "cosine" : answer.ranking === "ip" ? "inner product" : "score";
  const share = cosine ? hit.score : hit.score / Math.max(answer.hits[0].score, 1e-9);
  part(".meter span").style.width = `${Math.max(0, Math.min(1, share)) * 100}%`;
  part(".distance").hidden = hit.distance === null;
  part(".distance dd").textContent = hit.distance === null ? "" : plural(hit.distance, "bit");
  part("article").setAttribute("aria-label", `${rank + 1}: ${title || hit.key}`);
}

/**
 * Show the hits of an answer, which come after `offset` others. `actions` has open(hit), like(key) and point(key or null).
 *
 * Items are reused by key, so that a hit visibly moves and keeps the focus.
 */
export function showHits(answer, offset, changes, actions) {
  const query = answer.code && bitsOf(answer.code, answer.n_bits);
  const old = new Map([...list().children].map((item) => [item.dataset.key, item]));
  const tops = new Map([...old].map(([key, item]) => [key, item.offsetTop]));
  const focused = document.activeElement?.closest?.(".hit")?.dataset.key;
  const items = answer.hits.map((hit, rank) => {
    const item = old.get(hit.key) ?? $("hit-template").content.firstElementChild.cloneNode(true);
    fill(item, hit, offset + rank, query, changes?.moves.get(hit.key), answer);
    item.querySelector(".key").onclick = () => actions.open(hit);
    item.querySelector(".more").onclick = () => actions.like(hit.key);
    item.onmouseenter = item.onfocusin = () => actions.point(hit.key);
    item.onmouseleave = item.onfocusout = () => actions.point(null);
    return item;
  });
  list().replaceChildren(...items);
  const again = items.find((item) => item.dataset.key === focused);
  if (again && !again.contains(document.activeElement)) again.firstElementChild.focus({ preventScroll: true });
  if (!calm()) items.forEach((item) => glide(item, tops.get(item.dataset.key)));
}

function glide(item, top) {
  const from = top === undefined ? null : top - item.offsetTop;
  if (from === 0) return;
  const start = from === null ? { opacity: 0, transform: "translateY(6px)" } : { transform: `translateY(${from}px)` };
  item.animate([start, { opacity: 1, transform: "none" }], { duration: 220, easing: "cubic-bezier(.2,.8,.2,1)" });
}

/** Show gray boxes while the first hits load. */
export function showSkeleton() {
  if (list().children.length) return;
  const box = () =>
    make("li", { class: "hit skeleton", "aria-hidden": "true" }, make("span"), make("span"), make("span"));
  list().replaceChildren(box(), box(), box());
}

export const clearHits = () => list().replaceChildren();
export const fade = (on) => list().classList.toggle("stale", on);

/** Return the hit that has the focus, or null. */
export const current = () => document.activeElement?.closest?.(".hit") ?? null;

/** Move the focus by some hits. From outside the list, move it to the first hit. */
export function step(by) {
  const items = [...list().querySelectorAll(".hit:not(.skeleton)")];
  if (!items.length) return;
  const at = items.indexOf(current());
  const next = at < 0 ? 0 : Math.max(0, Math.min(items.length - 1, at + by));
  items[next].firstElementChild.focus({ preventScroll: true });
  items[next].scrollIntoView({ block: "nearest", behavior: calm() ? "auto" : "smooth" });
}

/** Mark the hit under the pointer on the map. */
export function markHit(key) {
  for (const item of list().children) item.classList.toggle("pointed", key !== null && item.dataset.key === key);
}
