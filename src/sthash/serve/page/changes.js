// The effect of a new radius or a new ranking on the hits.
import { $, make } from "./dom.js";

/** Compare two lists of hits: per key, the ranks moved up (positive) or down, or "new"; and the hits that are gone. */
export function compare(before, after) {
  const was = new Map(before.map((hit, rank) => [hit.key, rank]));
  const is = new Set(after.map((hit) => hit.key));
  const moves = new Map(after.map((hit, rank) => [hit.key, was.has(hit.key) ? was.get(hit.key) - rank : "new"]));
  return { moves, gone: before.filter((hit) => !is.has(hit.key)) };
}

/** Show the badge of one hit. */
export function showMove(badge, move) {
  badge.hidden = move === undefined || move === 0;
  if (badge.hidden) return;
  const kind = move === "new" ? "new" : move > 0 ? "up" : "down";
  badge.className = `move ${kind}`;
  badge.textContent = { new: "new", up: `▲ ${move}`, down: `▼ ${-move}` }[kind];
  badge.title = { new: "Was not a hit before", up: "Moved up", down: "Moved down" }[kind];
}

/** Show what changed above the hits, and which hits are gone below them. Without changes, show nothing. */
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
  $("gone").replaceChildren("No longer a hit: ", ...changes.gone.map((hit) => make("bdi", {}, hit.key)));
}
