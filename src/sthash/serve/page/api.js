// Requests to the server, with keys, errors, and retries when the server is busy.

const BUSY = ["overloaded", "busy", "collection_busy"]; // codes of 503 that a retry soon resolves
const TRIES_WHEN_BUSY = 8;
const keys = {
  get: (kind) => sessionStorage.getItem(`sthash-${kind}-key`),
  set: (kind, key) => sessionStorage.setItem(`sthash-${kind}-key`, key),
};
let askForKey = async () => null;
const asking = { read: null, write: null };

/** Set the function that asks the user: from ("read" or "write", whether a key was refused) to a key or null. */
export function onKeyNeeded(ask) {
  askForKey = ask;
}

export class ApiError extends Error {
  constructor(status, { code = "unknown", message, remedy = "" }) {
    super(message);
    Object.assign(this, { status, code, remedy });
  }
}

async function problem(response) {
  let error;
  try {
    error = (await response.json()).error;
  } catch {
    error = null;
  }
  const unknown = { message: `The server answered ${response.status} ${response.statusText}.`.replace(" .", ".") };
  return new ApiError(response.status, error?.message ? error : unknown);
}

function pause(milliseconds, signal) {
  return new Promise((resolve, reject) => {
    const stop = () => reject(new DOMException("stopped", "AbortError"));
    if (signal?.aborted) return stop();
    const timer = setTimeout(resolve, milliseconds);
    return signal?.addEventListener("abort", () => (clearTimeout(timer), stop()), { once: true });
  });
}

/**
 * Send one request and return the JSON of the answer.
 *
 * A busy server answers 503 at once: `onBusy` is called, and the request is sent again. If the server needs another
 * key, the user is asked once for all requests that wait for it. An aborted request throws AbortError.
 */
export async function call(method, path, { body, query = {}, signal, onBusy = () => {} } = {}) {
  // Addresses are relative, because a proxy may offer the server below a path of its own.
  const kind = method === "GET" || path === "/search" ? "read" : "write";
  const address = `${path.slice(1)}?${new URLSearchParams(Object.entries(query).filter(([, value]) => value != null))}`;
  for (let tries = 1; ; tries += 1) {
    const headers = {};
    const key = keys.get(kind) ?? keys.get(kind === "read" ? "write" : "read");
    if (key) headers.Authorization = `Bearer ${key}`;
    if (body !== undefined) headers["Content-Type"] = "application/json";
    let response;
    try {
      response = await fetch(address, { method, headers, signal, body: body && JSON.stringify(body) });
    } catch (error) {
      if (error.name === "AbortError") throw error;
      const remedy = "Check that it is running. The page tries again automatically.";
      throw new ApiError(0, { code: "unreachable", message: "The server does not answer.", remedy });
    }
    if (response.ok) return response.json();
    const refused = await problem(response);
    if (BUSY.includes(refused.code) && tries < TRIES_WHEN_BUSY) {
      const seconds = Math.min(Number(response.headers.get("Retry-After")) || 1, 5);
      onBusy(seconds);
      await pause(seconds * 1000 * (0.75 + Math.random() / 2), signal);
    } else if (response.status === 401 || refused.code === "key_may_not_write") {
      asking[kind] ??= askForKey(kind, Boolean(key)).finally(() => (asking[kind] = null));
      const given = await asking[kind];
      if (!given) throw refused;
      keys.set(kind, given);
    } else {
      throw refused;
    }
  }
}

/** List the collections. Without the right key the list is empty, so the page asks for the key first. */
export async function collections() {
  const told = await call("GET", "/collections");
  if (told.collections.length || !told.needs_read_key) return told;
  await call("GET", "/stats").catch((error) => {
    if (error.status === 401 || error.status === 0) throw error;
  });
  return call("GET", "/collections");
}

export const search = (collection, body, more) => call("POST", "/search", { query: { collection }, body, ...more });
export const random = (collection) => call("GET", "/random", { query: { collection } });
export const map = (collection) => call("GET", "/map", { query: { collection } });
export const document = (collection, key) =>
  call("GET", `/documents/${encodeURIComponent(key)}`, { query: { collection } });
export const remove = (collection, key) => call("POST", "/delete", { query: { collection }, body: { keys: [key] } });
export const add = (collection, documents) =>
  call("POST", "/documents", { query: { collection }, body: { documents, mode: "add" } });
