// The commands that compute the same model in a shell and in Python.

import { applies, flags, method, value } from "./methods.js";
import * as scenes from "./scene.js";

/** Maximum number of points within the command; more points are read from a file. */
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

/** Whether a column is a projection, which does not exist in a file. */
const projected = (column) => /^component [12]$/.test(column);

/** The command for a shell. */
export function shell(scene) {
  const words = ["wstar", "train"];
  if (scene.data.kind === "set" && !scene.axes.some(projected)) {
    const { name } = scene.data;
    const others = scene.columns.filter((column) => !scene.axes.includes(column) && !projected(column));
    words.push(`@${name}`, ...(others.length ? ["--drop", others.join(",")] : []), ...flags(scene));
    return words.map(quoted).join(" ");
  }
  if (scenes.size(scene) > MOST_INLINE) return [...words, "points.csv", ...flags(scene)].map(quoted).join(" ");
  return `${[...words, "-", "--format", "csv", ...flags(scene)].map(quoted).join(" ")} <<'END'\n${csv(scene)}END`;
}

const literal = (value) => (value === true ? "True" : value === false ? "False" : value === Infinity ? 'float("inf")' : typeof value === "string" ? `"${value}"` : String(value));

// The name and the value of a setting in Python; [] if the value is the default there, null if the setting does not exist there.
const through = { no_intercept: (bare) => (bare ? ["fit_intercept", false] : []) };
const order = {
  ...through, epochs: (most) => ["max_iter", most], rule: (rule) => ({ cyclic: ["shuffle", false], shuffled: [] })[rule] ?? null,
  learning_rate: (rate) => (rate === 1 ? [] : ["eta0", rate]), seed: (seed) => ["random_state", seed],
  schedule: (schedule) => (schedule === "constant" ? [] : null), ties: (ties) => (ties === "mistake" ? [] : null),
};
const cost = { ...through, C: (C) => (C === 1 ? [] : ["C", C]) };
const plain = { ...through, penalty: (penalty) => (penalty === "none" ? [] : null) };
const ESTIMATORS = {
  Perceptron: order, VotedPerceptron: order, AveragedPerceptron: order, PocketPerceptron: order,
  Kozinec: { epsilon: (epsilon) => ["epsilon", epsilon], rule: (rule) => (rule === "cyclic" ? [] : null) },
  HardMarginClassifier: through,
  LinearSVC: { ...cost, loss: (loss) => (loss === "hinge" ? ["loss", loss] : []), penalty: (penalty) => ({ l1: ["penalty", "l1"], l2: [] })[penalty] ?? null },
  LogisticRegression: {
    ...cost, loss: (loss) => (loss === "logistic" ? [] : null),
    penalty: (penalty) => ({ none: ["C", Infinity], l1: ["l1_ratio", 1], l2: [], "elastic-net": ["l1_ratio", 0.5] })[penalty] ?? null,
  },
  LinearDiscriminantAnalysis: {}, GaussianNB: {}, MinErrorClassifier: {}, LinearRegression: plain,
  RidgeClassifier: { ...through, C: (C) => (C === 1 ? [] : ["alpha", 1 / C]), penalty: (penalty) => ({ none: ["alpha", 0], l2: [] })[penalty] ?? null },
  QuantileRegressor: { penalty: (penalty) => (penalty === "none" ? ["alpha", 0] : null) },
};

/** The Python code; null if the package has no estimator for the method. */
export function python(scene) {
  const { python: estimator, regression, settings: own } = method(scene.method);
  if (!estimator) return null;
  const given = [];
  const left = [];
  for (const setting of own.filter((one) => applies(scene, one))) {
    const now = setting.name === "seed" ? scene.seed : value(scene, setting);
    // The engine chooses these values.
    if (now === undefined || now === "" || now === "auto" || (setting.optional && scene.settings[setting.name] === undefined)) continue;
    const argument = ESTIMATORS[estimator][setting.name]?.(now) ?? null;
    if (argument === null) left.push(setting.label);
    else if (argument.length) given.push(`${argument[0]}=${literal(argument[1])}`);
  }
  return [
    "import csv, wstar",
    'with open("points.csv", encoding="utf-8", newline="") as file:',
    "    rows = list(csv.reader(file))[1:]",
    `X = [[float(cell) for cell in row[:${regression ? 1 : 2}]] for row in rows]`,
    `y = [${regression ? "float(row[1])" : "row[2]"} for row in rows]`,
    `model = wstar.${estimator}(${given.join(", ")}).fit(X, y)`,
    ...(left.length ? [`# not available in Python: ${left.join(", ")}`] : []),
    ...(ESTIMATORS[estimator] === order ? ["# Python groups equal rows, so the order of the rows and the line may differ."] : []),
    "print(model.summary())",
  ].join("\n");
}
