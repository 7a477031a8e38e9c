// The query and its settings. All of them are in the address after the #, so that a link shows the same page.

// A longer query is not in the address: browsers and mail programs cut long links.
const MAX_LINK_CHARACTERS = 4000;

export const COUNTS = [5, 10, 20, 50];
export const RANKINGS = ["auto", "graph", "bm25", "cosine"];

const MAX_FILTERS = 16; // fields, as in limits.py

/** text: the query; key: the document that is the query, or null; radius: null for auto; filters: conditions. */
export function fresh() {
  return { collection: null, text: "", key: null, k: 10, radius: null, rerank: true, ranking: "auto", filters: [] };
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
    ranking: RANKINGS.includes(given.get("rank")) ? given.get("rank") : fresh().ranking,
    filters: given.getAll("where").slice(0, MAX_FILTERS),
  };
}

export function toFragment(state, several) {
  const said = new URLSearchParams();
  if (several && state.collection) said.set("in", state.collection);
  if (state.key !== null) said.set("like", state.key);
  else if (state.text && state.text.length <= MAX_LINK_CHARACTERS) said.set("q", state.text);
  if (state.radius !== null) said.set("radius", state.radius);
  if (!state.rerank) said.set("rerank", "no");
  if (state.ranking !== fresh().ranking) said.set("rank", state.ranking);
  if (state.k !== fresh().k) said.set("k", state.k);
  for (const filter of state.filters) said.append("where", filter);
  return said.size ? `#${said}` : "";
}

/** Write the state to the address, as a new step of the history or in place of the last one. */
export function remember(state, several, { step = false } = {}) {
  const address = location.pathname + toFragment(state, several);
  if (address === location.pathname + location.hash) return;
  history[step ? "pushState" : "replaceState"](null, "", address);
}
