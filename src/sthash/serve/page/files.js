// A file as the query: dropped anywhere on the page, or chosen.
import { $, toast } from "./dom.js";

const MAX_TEXT_CHARACTERS = 1_000_000; // as in limits.py

async function read(file, take) {
  const tooLong = () =>
    toast(`${file.name} has more than a million characters. Paste a part of it.`, { kind: "bad" });
  if (file.size > 4 * MAX_TEXT_CHARACTERS) {
    tooLong();
    return;
  }
  const bytes = await file.arrayBuffer();
  let text;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    text = new TextDecoder("windows-1252").decode(bytes); // the encoding of many old text files
  }
  if (text.includes("\0")) toast(`${file.name} does not look like text.`, { kind: "bad" });
  else if (text.trim() === "") toast(`${file.name} is empty.`, { kind: "bad" });
  else if (text.length > MAX_TEXT_CHARACTERS) tooLong();
  else take(text);
}

/** Call `take` with the text of a file, or with dropped text. */
export function startDrop(take) {
  const carries = (event) => ["Files", "text/plain"].some((kind) => event.dataTransfer?.types.includes(kind));
  const show = (on) => ($("drop").hidden = !on);
  window.addEventListener("dragover", (event) => {
    if (!carries(event) || $("query").readOnly) return;
    event.preventDefault();
    show(true);
  });
  window.addEventListener("dragleave", (event) => {
    if (event.relatedTarget === null) show(false);
  });
  window.addEventListener("drop", (event) => {
    show(false);
    if (!carries(event) || $("query").readOnly) return;
    event.preventDefault();
    const file = event.dataTransfer.files[0];
    const text = event.dataTransfer.getData("text/plain");
    if (file) read(file, take);
    else if (text.trim()) take(text);
  });
  $("open-file").addEventListener("click", () => $("file").click());
  $("file").addEventListener("change", () => {
    const file = $("file").files[0];
    if (file) read(file, take);
    $("file").value = ""; // so that the same file can be chosen again
  });
}
