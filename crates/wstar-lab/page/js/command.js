// The same model from a shell and from Python.

import { flags, method, settings } from "./methods.js";
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

/** Whether a column is a projection, which no file has. */
const projected = (column) => /^component [12]$/.test(column);

/** The line for a shell. */
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


const literal = (value) => (value === true ? "True" : value === false ? "False" : typeof value === "string" ? `"${value}"` : String(value));

/** What settings are called there, by estimator; a function where more than the name differs. */
const ROWS = { epochs: "max_iter", learning_rate: "eta0", rule: (rule) => (rule === "worst" ? null : ["shuffle", rule === "shuffled"]), no_intercept: () => ["fit_intercept", false] };
const WEIGHTED = { C: "C", no_intercept: () => ["fit_intercept", false], penalty: (penalty) => (penalty === "l2" ? [] : null), loss: (loss) => ["loss", loss.replace("-", "_")] };
const PLAIN = { no_intercept: () => ["fit_intercept", false], penalty: (penalty) => (penalty === "none" ? [] : null) };
const ESTIMATORS = {
  Perceptron: [ROWS], VotedPerceptron: [ROWS], AveragedPerceptron: [ROWS], PocketPerceptron: [ROWS],
  Kozinec: [{ epsilon: "epsilon", rule: (rule) => (rule === "cyclic" ? [] : null) }],
  HardMarginClassifier: [PLAIN], LinearSVC: [WEIGHTED],
  LogisticRegression: [{ ...WEIGHTED, loss: (loss) => (loss === "logistic" ? [] : null), penalty: (penalty) => (penalty === "none" ? ["C", Infinity] : penalty === "l2" ? [] : null) }],
  LinearDiscriminantAnalysis: [{}], GaussianNB: [{}], MinErrorClassifier: [{}], LinearRegression: [PLAIN],
  RidgeClassifier: [PLAIN, ["alpha=0"]], QuantileRegressor: [PLAIN, ["quantile=0.5", "alpha=0"]],
};

/** The lines for Python; null where the package has no estimator for the method. */
export function python(scene) {
  const { python: estimator, regression } = method(scene.method);
  if (!estimator) return null;
  const [known, always = []] = ESTIMATORS[estimator];
  const given = [...always];
  const left = [];
  for (const [name, value] of Object.entries(settings(scene))) {
    if (name === "method" || name === "seed" || value === false) continue;
    const rule = known[name];
    const told = typeof rule === "function" ? rule(value) : rule ? [rule, value] : null;
    if (told === null) left.push(name.replace("_", " "));
    else if (told.length) given.push(`${told[0]}=${told[1] === Infinity ? 'float("inf")' : literal(told[1])}`);
  }
  return [
    "import numpy as np, wstar",
    'data = np.genfromtxt("points.csv", delimiter=",", skip_header=1, dtype=None, encoding="utf-8")',
    regression
      ? "X, y = np.array([[row[0]] for row in data]), np.array([row[1] for row in data])"
      : "X, y = np.array([[row[0], row[1]] for row in data]), np.array([row[2] for row in data])",
    `model = wstar.${estimator}(${given.join(", ")}).fit(X, y)`,
    ...(left.length ? [`# not to be had in Python: ${left.join(", ")}`] : []),
    "print(model.summary())",
  ].join("\n");
}
