// The query and its settings. All of them are in the address after the #, so that a link shows the same page.

// A longer query is not in the address: browsers and mail programs cut long links.
const MAX_LINK_CHARACTERS = 4000;

export const COUNTS = [5, 10, 20, 50];
export const RANKINGS = ["auto", "graph", "bm25", "cosine"];

const MAX_FILTERS = 16; // fields, as in limits.py

/**
 * text: the query; key: the document that is the query, or null; filters: conditions; sort: a field, with a minus for
 * descending order, or ""; narrow, how: whether the page shows counts per value, and how hits were found; radius: null
 * for auto.
 */
export function fresh() {
  const query = { collection: null, text: "", key: null, k: 10, offset: 0, filters: [] };
  const view = { sort: "", collapse: false, narrow: false };
  return { ...query, ...view, how: false, radius: null, rerank: true, ranking: "auto" };
}

const whole = (value) => (/^\d{1,4}$/.test(value ?? "") ? Number(value) : null);

export function fromFragment(fragment) {
  const given = new URLSearchParams(fragment.replace(/^#/, ""));
  const k = whole(given.get("k"));
  const radius = whole(given.get("radius"));
  const rerank = given.get("rerank") !== "no";
  return {
    collection: given.get("in"),
    text: given.get("q") ?? "",
    key: given.get("like"),
    k: COUNTS.includes(k) ? k : fresh().k,
    offset: whole(given.get("offset")) ?? 0,
    sort: given.get("sort") ?? "",
    collapse: given.get("collapse") === "yes",
    narrow: given.get("narrow") === "yes",
    radius,
    rerank,
    how: given.get("how") === "yes" || radius !== null || !rerank,
    ranking: RANKINGS.includes(given.get("rank")) ? given.get("rank") : fresh().ranking,
    filters: given.getAll("where").slice(0, MAX_FILTERS),
  };
}

export function toFragment(state, several) {
  const said = new URLSearchParams();
  if (several && state.collection) said.set("in", state.collection);
  if (state.key !== null) said.set("like", state.key);
  else if (state.text && state.text.length <= MAX_LINK_CHARACTERS) said.set("q", state.text);
  if (state.offset) said.set("offset", state.offset);
  if (state.sort) said.set("sort", state.sort);
  if (state.collapse) said.set("collapse", "yes");
  if (state.narrow) said.set("narrow", "yes");
  if (state.how) said.set("how", "yes");
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
