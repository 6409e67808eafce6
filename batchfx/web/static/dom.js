// Elements from plain calls. Text is only ever set as text, so that nothing that was
// read from a file can become markup.

export function h(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "value" || name === "checked") element[name] = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...nodes(children));
  return element;
}

export function nodes(children) {
  return children.flat(Infinity).filter((each) => each !== null && each !== undefined && each !== false);
}

// Puts new children in place; what had the focus and is there again keeps it.
export function swap(parent, ...children) {
  const root = parent.getRootNode();
  const key = root.activeElement && parent.contains(root.activeElement) ? root.activeElement.dataset.key : null;
  parent.replaceChildren(...nodes(children));
  if (key) parent.querySelector(`[data-key="${CSS.escape(key)}"]`)?.focus();
}

export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

const LONG = 160; // characters that a cell shows at once

// A value from a file: of a long one the beginning, and the whole of it with the focus.
export const cellText = (text) => h("span", { class: "text", tabindex: text?.length > LONG ? 0 : undefined }, text ?? "–");

export const WIDE = 40; // columns of a table that are drawn at once

// Of many columns those that *text* is part of, else those that are kept and the first.
export function narrowed(columns, text) {
  if (columns.length <= WIDE) return columns;
  if (text) return columns.filter((each) => each.header.toLowerCase().includes(text.toLowerCase())).slice(0, WIDE);
  const chosen = new Set([...new Set([...columns.filter((each) => each.isKept), ...columns])].slice(0, WIDE));
  return columns.filter((each) => chosen.has(each));
}

let numbers = 0;
export const uniqueId = (name) => `${name}-${(numbers += 1)}`;

const SHAPES = {
  file: "M6 2h8l4 4v16H6zM14 2v4h4",
  upload: "M12 16V4m0 0L7 9m5-5 5 5M4 16v4h16v-4",
  check: "M5 12.5 10 17.5 19.5 7",
  alert: "M12 3 2 20.5h20zM12 10v4.5m0 2.5v.4",
  cross: "M6 6l12 12M18 6 6 18",
  pause: "M8 5v14M16 5v14",
  play: "M7 4.5v15l12-7.5z",
  down: "M12 4v12m0 0 5-5m-5 5-5-5M4 20h16",
  again: "M20 11a8 8 0 1 0-2.3 6M20 4v7h-7",
  clock: "M12 7v5l3.5 2M21 12a9 9 0 1 1-18 0 9 9 0 0 1 18 0z",
  left: "M14.5 5.5 8 12l6.5 6.5",
};

// A line drawing that says nothing to a screen reader: text stands beside it.
export function icon(name) {
  const space = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(space, "svg");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("class", "icon");
  svg.setAttribute("aria-hidden", "true");
  const path = document.createElementNS(space, "path");
  path.setAttribute("d", SHAPES[name]);
  svg.append(path);
  return svg;
}

export const button = (label, onclick, { kind = "", picture, ...rest } = {}) =>
  h("button", { type: "button", class: `button ${kind}`, onclick, ...rest }, picture && icon(picture), h("span", {}, label));
