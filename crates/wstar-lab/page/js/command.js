// The same model from a shell and from Python.

import { flags, method, numbers, settings } from "./methods.js";
import * as scenes from "./scene.js";

/** More points than this go to a file rather than into the command. */
const MOST_INLINE = 40;

const quoted = (text) => (/^[\w@.,=+-]+$/.test(text) ? text : `'${text.replace(/'/g, "'\\''")}'`);

/** The points as a CSV file. */
export function csv(scene) {
  const { points, classes } = scene;
  const cell = (text) => (/[",\n\r]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text);
  const { regression } = method(scene.method);
  const names = scenes.plainAxes(scene).map(cell);
  const head = regression ? names.join(",") : [...names, "class"].join(",");
  const rows = points.x.map((x, i) => (regression ? `${x},${points.y[i]}` : `${x},${points.y[i]},${cell(classes[points.c[i]])}`));
  return `${[head, ...rows].join("\n")}\n`;
}

/** The line for a shell. */
export function shell(scene) {
  const words = ["wstar", "train"];
  if (scene.data.kind === "set") {
    const { name } = scene.data;
    const others = scene.columns.filter((column) => !scene.axes.includes(column));
    words.push(`@${name}`, ...(others.length ? ["--drop", others.join(",")] : []), ...flags(scene));
    return words.map(quoted).join(" ");
  }
  if (scenes.size(scene) > MOST_INLINE) return [...words, "points.csv", ...flags(scene)].map(quoted).join(" ");
  return `${[...words, "-", "--format", "csv", ...flags(scene)].map(quoted).join(" ")} <<'END'\n${csv(scene)}END`;
}


/** The lines for Python; null where the package has no estimator for the method. */
export function python(scene) {
  const { python: estimator, regression, name } = method(scene.method);
  if (!estimator) return null;
  const told = settings(scene);
  const given = [];
  const set = (key, value) => given.push(`${key}=${typeof value === "string" ? `"${value}"` : value === true ? "True" : value === false ? "False" : value}`);
  const penalised = ["LinearSVC", "LogisticRegression"].includes(estimator);
  if (penalised) set("C", told.penalty === "none" ? "float('inf')" : told.C ?? 1);
  if (estimator === "LinearSVC") set("loss", told.loss === "squared-hinge" ? "squared_hinge" : "hinge");
  if (estimator === "Kozinec" && told.epsilon) set("epsilon", told.epsilon);
  if (told.no_intercept && name !== "kozinec") set("fit_intercept", false);
  const text = given.join(", ").replace(`"float('inf')"`, "float('inf')");
  const start = numbers(scene.settings.start ?? "");
  const note = start ? "  # Python's perceptron starts at 0" : "";
  return [
    "import numpy as np, wstar",
    'data = np.genfromtxt("points.csv", delimiter=",", skip_header=1, dtype=None, encoding="utf-8")',
    regression
      ? 'X, y = np.array([[row[0]] for row in data]), np.array([row[1] for row in data])'
      : 'X, y = np.array([[row[0], row[1]] for row in data]), np.array([row[2] for row in data])',
    `model = wstar.${estimator}(${text}).fit(X, y)${note}`,
    "print(model.summary())",
  ].join("\n");
}

