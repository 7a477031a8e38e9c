// The description of the API, made from /openapi.json. Nothing is loaded from elsewhere.
import { $, make, number } from "./dom.js";

let api = null; // the OpenAPI document

/** Follow a reference to a schema. */
const resolved = (schema) => (schema?.$ref ? api.components.schemas[schema.$ref.split("/").at(-1)] : schema);

/** Describe the type of a schema in a few words. */
function typeOf(schema) {
  if (!schema) return "";
  if (schema.$ref) return schema.$ref.split("/").at(-1);
  if (schema.anyOf) return [...new Set(schema.anyOf.filter((one) => one.type !== "null").map(typeOf))].join(" or ");
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(" or ");
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.type === "array") return `list of ${typeOf(schema.items) || "values"}`;
  const bounds = [
    schema.minimum !== undefined ? `from ${number(schema.minimum)}` : "",
    schema.maximum !== undefined ? `to ${number(schema.maximum)}` : "",
    schema.maxLength !== undefined ? `up to ${number(schema.maxLength)} characters` : "",
  ].filter(Boolean);
  return [schema.type ?? "any value", ...bounds].join(" ");
}

function table(titles, rows) {
  const line = (kind, cells) =>
    make("tr", {}, ...cells.map((cell) => make(kind, {}, ...(Array.isArray(cell) ? cell : [cell]))));
  return make(
    "div",
    { class: "scrolls" },
    make("table", {}, make("thead", {}, line("th", titles)), make("tbody", {}, ...rows.map((row) => line("td", row)))),
  );
}

const code = (text) => make("code", {}, text);
const plain = (text) => (text ?? "").replaceAll("`", "");
const sentence = (schema) => plain(schema?.description);

/** The fields of an object, one row each. */
function fields(schema) {
  const shape = resolved(schema);
  const needed = new Set(shape?.required ?? []);
  return Object.entries(shape?.properties ?? {}).map(([name, part]) => [
    code(name),
    typeOf(part),
    needed.has(name) ? "needed" : part.default === undefined || part.default === null ? "" : JSON.stringify(part.default),
    sentence(part),
  ]);
}

function example(schema) {
  const shape = resolved(schema);
  return JSON.stringify(shape?.examples?.[0] ?? {}, null, 2);
}

/** A form that sends the request to this server and shows the answer. */
function trial(method, path, operation) {
  const given = new Map();
  const field = (parameter) => {
    const input = make("input", { type: "text", "aria-label": parameter.name, spellcheck: false });
    given.set(parameter, input);
    return [
      [code(parameter.name)],
      typeOf(parameter.schema),
      parameter.required ? "needed" : JSON.stringify(parameter.schema?.default ?? "").replace('""', ""),
      sentence(parameter),
      [input],
    ];
  };
  const parts = [];
  if (operation.parameters?.length)
    parts.push(
      make("h3", {}, "Parameters"),
      table(["name", "type", "default", "meaning", "value"], operation.parameters.map(field)),
    );
  const schema = operation.requestBody?.content["application/json"].schema;
  const body = make("textarea", { rows: 7, spellcheck: false, "aria-label": "Body", value: schema ? example(schema) : "" });
  if (schema) {
    parts.push(make("h3", {}, "Body"), table(["field", "type", "default", "meaning"], fields(schema)), body);
  }
  const answer = make("pre", { hidden: true, tabIndex: 0 });
  const send = make("button", { type: "button", class: "primary", onclick: () => ask() }, "Send");
  async function ask() {
    let address = path;
    const query = new URLSearchParams();
    for (const [parameter, input] of given) {
      if (parameter.in === "path") address = address.replace(`{${parameter.name}}`, encodeURIComponent(input.value));
      else if (input.value !== "") query.set(parameter.name, input.value);
    }
    const headers = $("key").value ? { Authorization: `Bearer ${$("key").value}` } : {};
    if (schema) headers["Content-Type"] = "application/json";
    send.disabled = true;
    answer.hidden = false;
    try {
      const response = await fetch((query.size ? `${address}?${query}` : address).slice(1), {
        method: method.toUpperCase(),
        headers,
        body: schema ? body.value : undefined,
      });
      const text = await response.text();
      answer.textContent = `${response.status}\n${pretty(text)}`;
    } catch {
      answer.textContent = "The server does not answer. Check that it is running.";
    } finally {
      send.disabled = false;
    }
  }
  return [...parts, make("div", {}, send), answer];
}

const SHOWN = 20_000; // characters

function pretty(text) {
  let shown = text;
  try {
    shown = JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    // It is not JSON, for example the metrics.
  }
  return shown.length > SHOWN ? `${shown.slice(0, SHOWN)} …` : shown;
}

function answers(operation) {
  const rows = Object.entries(operation.responses).map(([status, response]) => [
    code(status),
    typeOf(response.content?.["application/json"]?.schema),
    plain(response.description),
  ]);
  const good = operation.responses[200]?.content?.["application/json"]?.schema;
  const parts = [make("h3", {}, "Answers"), table(["status", "type", "meaning"], rows)];
  if (good && fields(good).length)
    parts.push(make("h3", {}, "Fields of the answer"), table(["field", "type", "default", "meaning"], fields(good)));
  return parts;
}

function route(method, path, operation) {
  const inside = make("div", { class: "inside" });
  const details = make(
    "details",
    { class: "card route", id: operation.operationId },
    make(
      "summary",
      {},
      make("span", { class: "method" }, method.toUpperCase()),
      make("span", { class: "path" }, path),
      make("span", { class: "what" }, plain(operation.description)),
    ),
    inside,
  );
  details.addEventListener(
    "toggle",
    () => inside.append(...trial(method, path, operation), ...answers(operation)),
    { once: true },
  );
  return details;
}

async function start() {
  const place = $("docs");
  try {
    const response = await fetch("openapi.json");
    api = await response.json();
  } catch {
    $("said").textContent = "The server does not answer. Check that it is running, and load this page again.";
    return;
  }
  const routes = Object.entries(api.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => route(method, path, operation)),
  );
  place.replaceChildren(
    make("h1", {}, `${api.info.title} ${api.info.version}`),
    make("p", { class: "intro" }, plain(api.info.description).replace(/(?<!\n)\n(?!\n)/gu, " ")),
    make(
      "label",
      { class: "key-field" },
      "Key, if the server has one. The page sends it to this server only, and does not keep it.",
      make("input", { type: "password", id: "key", autocomplete: "off" }),
    ),
    ...routes,
  );
  const wanted = document.getElementById(location.hash.slice(1));
  if (wanted) wanted.open = true;
}

start();
