// Keyboard shortcuts. They are off while the user types, and while a dialog is open.
import { anyOpen } from "./dialogs.js";
import { $ } from "./dom.js";
import { current, step } from "./hits.js";

const typing = (target) => target.matches("input:not([type=range]), textarea, select, [contenteditable]");

export function startKeyboard(actions) {
  const keys = {
    "/": () => ($("query").focus(), $("query").select()),
    j: () => step(1),
    k: () => step(-1),
    m: () => current()?.querySelector(".more").click(),
    r: actions.random,
    x: actions.rerank,
    "[": () => actions.widen(-1),
    "]": () => actions.widen(1),
    "?": actions.help,
    Escape: () => document.activeElement?.blur(),
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || anyOpen()) return;
    if (event.key === "Enter" && event.target.matches(".hit article")) {
      event.preventDefault();
      event.target.querySelector(".key").click();
    } else if (event.key === "Escape" || !typing(event.target)) {
      if (!Object.hasOwn(keys, event.key)) return;
      event.preventDefault();
      keys[event.key]();
    }
  });
  // Ctrl-Enter moves from the query to the first hit.
  $("query").addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) step(1);
  });
}
