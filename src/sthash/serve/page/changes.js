// What a change of the radius or of the ranking did to the hits.
import { $, make } from "./dom.js";

/** Compare two lists of hits: for each key places moved up (positive) or down, "new", or 0; and those that are gone. */
export function compare(before, after) {
  const was = new Map(before.map((hit, rank) => [hit.key, rank]));
  const is = new Set(after.map((hit) => hit.key));
  const moves = new Map(after.map((hit, rank) => [hit.key, was.has(hit.key) ? was.get(hit.key) - rank : "new"]));
  return { moves, gone: before.filter((hit) => !is.has(hit.key)) };
}

/** The badge of one hit. */
export function showMove(badge, move) {
  badge.hidden = move === undefined || move === 0;
  if (badge.hidden) return;
  const kind = move === "new" ? "new" : move > 0 ? "up" : "down";
  badge.className = `move ${kind}`;
  badge.textContent = { new: "new", up: `▲ ${move}`, down: `▼ ${-move}` }[kind];
  badge.title = { new: "Was not among the hits before", up: "Moved up", down: "Moved down" }[kind];
}

/** Say in one line what changed, and below the hits which are gone; nothing if there is nothing to compare. */
export function showChanges(changes, what) {
  $("changes").hidden = !changes;
  $("gone").hidden = !changes?.gone.length;
  if (!changes) return;
  const moves = [...changes.moves.values()];
  const counts = [
    [moves.filter((move) => move > 0).length, "up"],
    [moves.filter((move) => move < 0).length, "down"],
    [moves.filter((move) => move === "new").length, "new"],
    [changes.gone.length, "gone"],
  ].filter(([count]) => count);
  const said = counts.length ? counts.map(([count, kind]) => `${count} ${kind}`).join(", ") : "same hits, same order";
  $("changes").replaceChildren(make("strong", {}, what), ` ${said}`);
  $("gone").replaceChildren("No longer among the hits: ", ...changes.gone.map((hit) => make("bdi", {}, hit.key)));
}
