// What the rest needs of the DOM. Text goes in as text nodes only; there is no way from a string to markup here.

export const $ = (id) => document.getElementById(id);

/** Make an element: properties are set as such, except class, data and aria-… and other attributes with a dash. */
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

/** The colour that a custom property stands for now, light or dark, as a canvas can use it. */
export function colour(property) {
  const probe = make("span", { hidden: true });
  probe.style.color = `var(${property})`;
  document.body.append(probe);
  const value = getComputedStyle(probe).color;
  probe.remove();
  return value;
}

/** Call a function once, so many milliseconds after the last time it was asked for. */
export function debounced(action, wait) {
  let timer = 0;
  const ask = (...given) => {
    clearTimeout(timer);
    timer = setTimeout(() => action(...given), wait);
  };
  ask.cancel = () => clearTimeout(timer);
  return ask;
}

/** Tell people who listen, and nobody else. */
export function announce(text) {
  $("status").textContent = text;
}

/** A short note at the foot of the page, with something to do about it if there is. */
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
