// What is looked for and how. All of it stands in the address, after the #, so that a link shows the same to others.

// A longer query stays out of the address: browsers and mail programs cut long links.
const LONGEST_LINK = 4000;

export const COUNTS = [5, 10, 20, 50];

/** text: what is looked for; key: of the document it is, if it is one; radius: null for auto. */
export function fresh() {
  return { collection: null, text: "", key: null, k: 10, radius: null, rerank: true };
}

const whole = (value) => (/^\d{1,4}$/.test(value ?? "") ? Number(value) : null);

export function fromFragment(fragment) {
  const given = new URLSearchParams(fragment.replace(/^#/, ""));
  const k = whole(given.get("k"));
  return {
    collection: given.get("in"),
    text: given.get("q") ?? "",
    key: given.get("like"),
    k: COUNTS.includes(k) ? k : fresh().k,
    radius: whole(given.get("radius")),
    rerank: given.get("rerank") !== "no",
  };
}

export function toFragment(state, several) {
  const said = new URLSearchParams();
  if (several && state.collection) said.set("in", state.collection);
  if (state.key !== null) said.set("like", state.key);
  else if (state.text && state.text.length <= LONGEST_LINK) said.set("q", state.text);
  if (state.radius !== null) said.set("radius", state.radius);
  if (!state.rerank) said.set("rerank", "no");
  if (state.k !== fresh().k) said.set("k", state.k);
  return said.size ? `#${said}` : "";
}

/** Put the state into the address: as a step to come back to, or in place of the last one. */
export function remember(state, several, { step = false } = {}) {
  const address = location.pathname + toFragment(state, several);
  if (address === location.pathname + location.hash) return;
  history[step ? "pushState" : "replaceState"](null, "", address);
}
