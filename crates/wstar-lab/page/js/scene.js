// The scene: points, method, settings, seed and step. The address contains all of it, so that a link reproduces it.

import { METHODS } from "./methods.js";

/** Maximum number of points in a link. */
export const LONGEST_LINK = 1500;
const LETTERS = "ABCDE";

/** An empty scene. */
export function empty() {
  return {
    lesson: null,
    data: { kind: "points" },
    points: { x: [], y: [], c: [] },
    classes: ["A", "B"],
    axes: ["x₁", "x₂"],
    method: "perceptron",
    settings: {},
    seed: 0,
    step: null,
    proof: false,
    line: null,
  };
}

/** The number of points. */
export const size = (scene) => scene.points.x.length;

/** The points for a request: the name of a data set or a recipe if possible, otherwise the coordinates. */
export function data(scene) {
  const { kind, name, columns, recipe } = scene.data;
  if (kind === "set") return { set: { name, columns } };
  if (kind === "make") return { make: recipe };
  const used = [...new Set(scene.points.c)].sort((a, b) => a - b);
  const index = new Map(used.map((code, at) => [code, at]));
  return {
    points: {
      x: scene.points.x,
      y: scene.points.y,
      class: scene.points.c.map((code) => index.get(code)),
      classes: used.map((code) => scene.classes[code]),
      axes: plainAxes(scene),
    },
  };
}

/** The indices of the classes that have points. The engine numbers only these classes. */
export function used(scene) {
  const all = scene.data.kind === "set" || scene.data.kind === "make";
  if (all) return scene.classes.map((_, code) => code);
  return [...new Set(scene.points.c)].sort((a, b) => a - b);
}

/** The names of the axes for a file, without subscripts. */
export const plainAxes = (scene) => scene.axes.map((axis) => axis.replace("₁", "1").replace("₂", "2"));

/** The scene as the fragment of an address. */
export function toHash(scene) {
  const words = new URLSearchParams();
  if (scene.lesson) words.set("lesson", scene.lesson);
  const { kind, name, columns, recipe } = scene.data;
  if (kind === "set") words.set("set", [name, ...(columns ?? [])].join("|"));
  if (kind === "make") words.set("make", [recipe.kind, recipe.rows, recipe.seed, recipe.margin, recipe.spread].join(","));
  if (kind === "file" || kind === "points") {
    if (size(scene) > LONGEST_LINK) words.set("lost", String(size(scene)));
    else words.set("points", pointsText(scene));
    if (scene.classes.join() !== "A,B") words.set("classes", scene.classes.join("|"));
    if (plainAxes(scene).join() !== "x1,x2") words.set("axes", scene.axes.join("|"));
  }
  words.set("method", scene.method);
  for (const [setting, value] of Object.entries(scene.settings)) words.set(`.${setting}`, String(value));
  if (scene.seed) words.set("seed", String(scene.seed));
  if (scene.step !== null) words.set("step", String(scene.step));
  if (scene.proof) words.set("proof", "1");
  if (scene.line) words.set("line", scene.line.map((value) => Number(value.toPrecision(6))).join(","));
  // These characters are allowed in a fragment, and unescaped they are easier to read.
  return words.toString().replace(/%2C/g, ",").replace(/%7C/g, "|").replace(/%3B/g, ";").replace(/%40/g, "@");
}

function pointsText({ points }) {
  return points.x.map((x, i) => `${LETTERS[points.c[i]] ?? `${points.c[i]}:`}${x},${points.y[i]}`).join(";");
}

function pointsFrom(text) {
  const points = { x: [], y: [], c: [] };
  for (const word of text.split(";").filter(Boolean)) {
    const [, label, x, y] = /^([A-E]|\d:)(-?[\d.e+-]+),(-?[\d.e+-]+)$/.exec(word) ?? [];
    const numbers = [Number(x), Number(y)];
    if (!label || !numbers.every(Number.isFinite)) continue;
    points.x.push(numbers[0]);
    points.y.push(numbers[1]);
    points.c.push(label.endsWith(":") ? Number(label[0]) : LETTERS.indexOf(label));
  }
  return points;
}

/** The scene of an address; fields that it does not contain are those of `base`. */
export function fromHash(hash, base = empty()) {
  const words = new URLSearchParams(hash.replace(/^#/, ""));
  const scene = structuredClone(base);
  const has = (name) => words.has(name);
  if (has("set")) {
    const [name, ...columns] = words.get("set").split("|");
    scene.data = { kind: "set", name, columns: columns.length === 2 ? columns : null };
  } else if (has("make")) {
    const [kind, rows, seed, margin, spread] = words.get("make").split(",");
    scene.data = { kind: "make", recipe: recipe(kind, Number(rows), Number(seed), Number(margin), Number(spread)) };
  } else if (has("points") || has("lost")) {
    scene.data = { kind: "points" };
    scene.points = pointsFrom(words.get("points") ?? "");
    scene.lost = Number(words.get("lost") ?? 0);
    scene.classes = has("classes") ? words.get("classes").split("|").slice(0, 8) : ["A", "B"];
    while (scene.classes.length <= Math.max(0, ...scene.points.c)) scene.classes.push(LETTERS[scene.classes.length] ?? `${scene.classes.length}`);
    scene.axes = has("axes") ? words.get("axes").split("|").slice(0, 2) : ["x₁", "x₂"];
  }
  if (has("lesson")) scene.lesson = words.get("lesson");
  if (has("method") && METHODS.some((one) => one.name === words.get("method"))) {
    scene.method = words.get("method");
    scene.settings = {};
    scene.step = null;
    scene.proof = false;
    scene.line = null;
    scene.seed = 0;
  }
  for (const [name, text] of words) {
    if (!name.startsWith(".")) continue;
    const number = Number(text);
    scene.settings[name.slice(1)] = text === "true" ? true : text === "false" ? false : text !== "" && Number.isFinite(number) ? number : text;
  }
  if (has("seed")) scene.seed = Math.max(0, Math.floor(Number(words.get("seed")) || 0));
  if (has("step")) scene.step = Math.max(0, Math.floor(Number(words.get("step")) || 0));
  if (has("proof")) scene.proof = words.get("proof") === "1";
  if (has("line")) {
    const line = words.get("line").split(",").map(Number);
    scene.line = line.length === 3 && line.every(Number.isFinite) ? line : null;
  }
  return scene;
}

/** A recipe for points; missing or invalid values are replaced by defaults. */
export function recipe(kind, rows = 60, seed = 0, margin = 0.5, spread = 1) {
  const clamped = (value, usual, least, most) => (Number.isFinite(value) ? Math.min(most, Math.max(least, value)) : usual);
  return {
    kind,
    rows: Math.round(clamped(rows, 60, 2, 200000)),
    seed: Math.floor(clamped(seed, 0, 0, 2 ** 32)),
    margin: clamped(margin, 0.5, 0, 100),
    spread: clamped(spread, 1, 0, 100),
  };
}

/** The undo history. */
export class UndoHistory {
  #kept = [];

  /** Stores the points before a change. */
  keep(scene) {
    const { data, points, classes, axes } = scene;
    this.#kept.push(structuredClone({ data, points, classes, axes }));
    if (this.#kept.length > 100) this.#kept.shift();
  }

  /** Undoes the last change; false if there is no change. */
  undo(scene) {
    const before = this.#kept.pop();
    if (before) Object.assign(scene, before);
    return Boolean(before);
  }

  /** Removes the last entry if no change followed. */
  drop() {
    this.#kept.pop();
  }

  forget() {
    this.#kept = [];
  }
}
