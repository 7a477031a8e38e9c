// Helpers for the DOM. Text becomes text nodes only: no function here turns a string into markup.

export const $ = (id) => document.getElementById(id);

/** Make an element. Names with a dash, and role, are attributes; on… adds a listener; all others are properties. */
export function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name === "class") element.className = value;
    else if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name.includes("-") || name === "role") element.setAttribute(name, value);
    else element[name] = value;
  }
  element.append(...children);
  return element;
}

/** Make an SVG element. */
export function draw(tag, attributes = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

export const number = (value) => value.toLocaleString("en");
export const plural = (count, one, many = `${one}s`) => `${number(count)} ${count === 1 ? one : many}`;
export const calm = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

/** Return the current color of a custom property, in a form that a canvas accepts. */
export function color(property) {
  const probe = make("span", { hidden: true });
  probe.style.color = `var(${property})`;
  document.body.append(probe);
  const value = getComputedStyle(probe).color;
  probe.remove();
  return value;
}

/** Return a function that calls `action` once, `wait` milliseconds after its own last call. */
export function debounced(action, wait) {
  let timer = 0;
  const ask = (...given) => {
    clearTimeout(timer);
    timer = setTimeout(() => action(...given), wait);
  };
  ask.cancel = () => clearTimeout(timer);
  return ask;
}

/** Announce a text to screen readers only. */
export function announce(text) {
  $("status").textContent = text;
}

/** Show a short note at the bottom of the page, with a button if there is an action. */
export function toast(text, { action, label, kind = "plain" } = {}) {
  const note = make(
    "div",
    { class: `toast ${kind}`, role: kind === "bad" ? "alert" : "status" },
    make("span", {}, text),
  );
  const close = () => note.remove();
  if (action) note.append(make("button", { type: "button", onclick: () => (close(), action()) }, label));
  note.append(make("button", { type: "button", class: "icon", "aria-label": "Dismiss", onclick: close }, "×"));
  $("toasts").replaceChildren(note);
  setTimeout(close, kind === "bad" ? 10000 : 6000);
}
