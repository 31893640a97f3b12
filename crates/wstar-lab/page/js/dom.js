// Creation and lookup of elements; formatting of numbers and formulas.

/** The element with this id. */
export const find = (id) => document.getElementById(id);

/** A new element: attributes, listeners (`on…` functions) and children. Text is always text, never markup. */
export function h(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

const SVG = "http://www.w3.org/2000/svg";

/** A new SVG element. */
export function s(tag, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

const MATH = "http://www.w3.org/1998/Math/MathML";

function m(tag, ...children) {
  return filled(document.createElementNS(MATH, tag), {}, children);
}

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

/** MathML formulas: numbers, names, operators, fractions, powers, indices, roots. */
export const math = {
  formula: (...parts) => m("math", ...parts.map(part)),
  frac: (above, below) => m("mfrac", math.row(above), math.row(below)),
  sup: (base, power) => m("msup", math.row(base), math.row(power)),
  sub: (base, index) => m("msub", math.row(base), math.row(index)),
  root: (...inside) => m("msqrt", ...inside.map(part)),
  row: (...parts) => m("mrow", ...parts.flat().map(part)),
  name: (text) => m("mi", text),
  number: (value) => m("mn", typeof value === "number" ? short(value) : String(value)),
};

function part(item) {
  if (item instanceof Node) return item;
  if (typeof item === "number") return math.number(item);
  if (/^[a-zA-Zα-ωξ]+$/u.test(item)) return m("mi", item);
  if (/^[\d.,−]+$/u.test(item)) return m("mn", item);
  return m("mo", item);
}

const MINUS = "\u2212";

/** A number with about four significant digits. */
export function short(value, digits = 4) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : MINUS + "∞";
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-3 || size >= 1e6)) {
    const [digitsText, power] = value.toExponential(2).split("e");
    const trimmed = digitsText.replace(/\.?0+$/, "");
    return `${trimmed}·10${raised(Number(power))}`.replace("-", MINUS);
  }
  const text = String(Number(value.toPrecision(digits)));
  return text.replace("-", MINUS);
}

const RAISED = "⁰¹²³⁴⁵⁶⁷⁸⁹";

function raised(power) {
  const digits = [...String(Math.abs(power))].map((digit) => RAISED[Number(digit)]).join("");
  return (power < 0 ? "⁻" : "") + digits;
}

/** An integer with separators between groups of three digits. */
export const count = (value) => Math.floor(value).toLocaleString("en-US");

/** "1 mistake", "2 mistakes". */
export const plural = (value, noun) => `${count(value)} ${noun}${value === 1 ? "" : "s"}`;

/** A vector, intercept first. */
export const vector = (numbers) => `(${numbers.map((value) => short(value)).join(", ")})`;

/** A function that calls `work` when it has not been called again for some milliseconds. */
export function debounced(work, milliseconds) {
  let timer;
  return (...given) => {
    clearTimeout(timer);
    timer = setTimeout(() => work(...given), milliseconds);
  };
}
