// The dialogs: a document, a new document, a key, help.
import { bitsOf, strip } from "./bits.js";
import { $, make, plural } from "./dom.js";
import { condition } from "./filters.js";
import { marked } from "./highlight.js";
import { showLabel } from "./labels.js";

const SHOWN_AT_ONCE = 20_000; // characters; a whole book would block the page

export const anyOpen = () => document.querySelector("dialog[open]") !== null;

/** Close a dialog by its buttons, or by a click outside it. */
export function startDialogs() {
  for (const dialog of document.querySelectorAll("dialog")) {
    for (const button of dialog.querySelectorAll(".close")) button.addEventListener("click", () => dialog.close(""));
    dialog.addEventListener("click", (event) => {
      if (event.target === dialog) dialog.close("");
    });
  }
}

/**
 * Show a document. Its buttons call `like()`, `only(condition)` and `remove()`; without `remove` it has no delete button.
 */
export function showDocument(found, { terms = [], like, only, remove = null }) {
  const dialog = $("document-dialog");
  const part = (selector) => dialog.querySelector(selector);
  part("#document-key bdi").textContent = found.key;
  showLabel(part(".label"), found.label);
  const entries = Object.entries(found.metadata ?? {});
  const said = (value) => (typeof value === "string" ? value : JSON.stringify(value));
  const valueOf = (name, value, sign) => {
    const shown = make("bdi", {}, said(value));
    if (value === null || typeof value === "object" || said(value).length > 100) return shown;
    const wanted = condition(name, value, sign);
    const choose = () => (dialog.close(), only(wanted));
    return make("button", { type: "button", class: "only", title: `Only documents with ${wanted}`, onclick: choose }, shown);
  };
  const valuesOf = (name, value) =>
    Array.isArray(value) ? value.map((one) => valueOf(name, one, " contains ")) : [valueOf(name, value)];
  part(".metadata").replaceChildren(
    ...entries.map(([name, value]) =>
      make("div", {}, make("dt", {}, make("bdi", {}, name)), make("dd", {}, ...valuesOf(name, value))),
    ),
  );
  const rest = found.text.length - SHOWN_AT_ONCE;
  part(".text").replaceChildren(...marked(found.text.slice(0, SHOWN_AT_ONCE), terms));
  if (rest > 0) {
    const all = () => part(".text").replaceChildren(document.createTextNode(found.text));
    part(".text").append(make("button", { type: "button", onclick: all }, `… ${plural(rest, "more character")}`));
  }
  part(".like-this").onclick = () => (dialog.close(), like());
  const button = part(".delete");
  button.hidden = remove === null;
  button.textContent = "Delete";
  button.onclick = async () => {
    if (button.textContent === "Delete") {
      button.textContent = "Delete for good?";
      return;
    }
    button.disabled = true;
    if (await remove()) dialog.close();
    button.disabled = false;
  };
  if (!dialog.open) dialog.showModal();
  part(".text").scrollTop = 0;
}

/** Ask for a new document. `put(document)` stores it. The dialog shows its errors, and keeps the input. */
export function showAdd(text, put) {
  const dialog = $("add-dialog");
  const form = dialog.querySelector("form");
  const problem = dialog.querySelector(".problem");
  const submit = form.querySelector("[type=submit]");
  form.reset();
  form.elements.text.value = text;
  problem.hidden = true;
  form.onsubmit = async (event) => {
    event.preventDefault();
    const given = { text: form.elements.text.value };
    for (const name of ["key", "label"]) if (form.elements[name].value) given[name] = form.elements[name].value;
    submit.disabled = true;
    try {
      await put(given);
      dialog.close();
    } catch (error) {
      problem.textContent = [error.message, error.remedy].filter(Boolean).join(" ");
      problem.hidden = false;
    } finally {
      submit.disabled = false;
    }
  };
  dialog.showModal();
  form.elements.text.focus();
}

const WHY = {
  read: "The operator of the server has the key. The search continues with the right key.",
  write: "Changes need the write key. The operator of the server has it.",
};

/** Ask for a key; null if the user cancels. */
export function askKey(kind, refused) {
  const dialog = $("key-dialog");
  const form = dialog.querySelector("form");
  form.reset();
  $("key-title").textContent = refused ? "That key was not right" : `This server needs a ${kind} key`;
  $("key-why").textContent = WHY[kind];
  return new Promise((resolve) => {
    dialog.onclose = () => resolve(dialog.returnValue === "given" ? form.elements.key.value.trim() || null : null);
    form.onsubmit = (event) => {
      event.preventDefault();
      dialog.close("given");
    };
    dialog.returnValue = "";
    dialog.showModal();
  });
}

export function showHelp() {
  const query = bitsOf("b64d", 16);
  $("help-dialog")
    .querySelector(".strip-holder")
    .replaceChildren(strip(bitsOf("a74c", 16), query));
  $("help-dialog").showModal();
}
