// A file as the query: dropped anywhere on the page, or picked.
import { $, toast } from "./dom.js";

const LONGEST = 1_000_000; // characters that the server takes

async function read(file, take) {
  const tooLong = () =>
    toast(`${file.name} has more than a million characters. Paste the part that matters.`, { kind: "bad" });
  if (file.size > 4 * LONGEST) {
    tooLong();
    return;
  }
  const bytes = await file.arrayBuffer();
  let text;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    text = new TextDecoder("windows-1252").decode(bytes); // what old text files are in
  }
  if (text.includes("\0")) toast(`${file.name} does not look like text.`, { kind: "bad" });
  else if (text.trim() === "") toast(`${file.name} is empty.`, { kind: "bad" });
  else if (text.length > LONGEST) tooLong();
  else take(text);
}

/** Hand the text of a file, or text that is dropped, to `take`. */
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
    $("file").value = ""; // the same file may be picked again
  });
}
