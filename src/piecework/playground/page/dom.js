// Creates elements. Text is inserted as text: nothing on this page is ever parsed as HTML.

export const $ = (id) => document.getElementById(id);

export function el(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

export function svg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "class") element.setAttribute("class", value);
    else if (name === "value") element.value = value;
    else if (name === "checked" || name === "disabled" || name === "hidden") element[name] = Boolean(value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

export const count = (number) => number.toLocaleString("en-US");
export const fixed = (number, digits) =>
  Number.isFinite(number) ? number.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits }) : "–";
export const percent = (share, digits = 1) => (Number.isFinite(share) ? `${fixed(100 * share, digits)} %` : "–");

// A piece in readable form: control characters and special spaces as names, the rest unchanged.
export function visible(text) {
  return text.replace(/[\u0000-\u001f\u007f-\u00a0\u00ad\u1680\u180e\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\ufeff]/g, (character) => {
    const names = { "\n": "⏎", "\t": "⇥", "\r": "␍", "\u00a0": "⍽" };
    return names[character] ?? `‹${character.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}›`;
  });
}

let toastTimer = 0;
export function toast(message) {
  $("toast").textContent = message;
  $("toast").classList.add("visible");
  clearTimeout(toastTimer);
  toastTimer = setTimeout(() => $("toast").classList.remove("visible"), 2600);
}
