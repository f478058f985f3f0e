// Make elements. Text is only ever set as text, so that nothing that a cluster says can become markup.

export const byId = (id) => document.getElementById(id);

// el("td", {class: "number", onclick: f}, "text", child, ...)
export function el(tag, attributes = {}, ...children) {
  return dress(document.createElement(tag), attributes, children);
}

export function svg(tag, attributes = {}, ...children) {
  return dress(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

function dress(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children.flat(Infinity)) {
    if (child !== null && child !== undefined && child !== "") node.append(child);
  }
  return node;
}

// What a thing is called, and under it something less important.
export const twoLines = (first, second) => el("div", { class: "two" }, el("span", {}, first), el("span", { class: "quiet" }, second));

// Buttons of which one is pressed, as a group of radio buttons: arrow keys move between them.
export function choice(label, options, chosen, onchange) {
  const name = `choice-${Math.random().toString(36).slice(2)}`;
  const buttons = options.map(([value, text]) =>
    el("label", {},
      el("input", { type: "radio", name, value, checked: value === chosen, onchange: () => onchange(value) }),
      el("span", {}, text)));
  return el("div", { class: "choice", role: "radiogroup", "aria-label": label }, buttons);
}
