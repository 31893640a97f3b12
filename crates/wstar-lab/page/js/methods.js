// The methods and their settings, with their names in the engine, on the command line and in Python.
// `usual` is the initial value in the lab, `engine` the default of the engine.

const rate = { name: "learning_rate", label: "rate α", kind: "log", least: 0.001, most: 10, usual: 1, engine: 1, flag: "--learning-rate" };
const schedule = {
  name: "schedule", label: "schedule", kind: "choice", flag: "--schedule",
  choices: ["constant", "inverse", "halving"], usual: "constant", engine: "constant",
};
const halving = { name: "halving", label: "steps at full rate", kind: "log", least: 1, most: 1000, whole: true, usual: 10, flag: "--halving-steps" };
const seed = { name: "seed", label: "seed", kind: "seed" };
const rule = { name: "rule", label: "rule", kind: "choice", flag: "--rule", choices: ["cyclic", "shuffled", "worst"], usual: "cyclic", engine: "cyclic" };
const order = { ...rule, choices: ["cyclic", "shuffled"], usual: "shuffled", engine: "shuffled" };
const ties = { name: "ties", label: "score 0 is", kind: "choice", flag: "--ties", choices: ["mistake", "positive"], usual: "mistake", engine: "mistake" };
const epochs = { name: "epochs", label: "passes", kind: "log", least: 1, most: 1000, whole: true, usual: 100, flag: "--epochs" };
const passes = { ...epochs, most: 100, usual: 1 };
const start = { name: "start", label: "start", kind: "vector", flag: "--start" };
const bias = { name: "no_intercept", label: "through the origin", kind: "switch", flag: "--no-intercept" };
const cost = { name: "C", label: "C", kind: "log", least: 1e-4, most: 1e4, usual: 1, engine: 1, flag: "--C" };
const penalty = (usual, engine = usual) => ({
  name: "penalty", label: "penalty", kind: "choice", flag: "--penalty",
  choices: ["none", "l1", "l2", "elastic-net"], usual, engine,
});
const momentum = { name: "momentum", label: "momentum β", kind: "linear", least: 0, most: 0.95, step: 0.05, usual: 0, engine: 0, flag: "--momentum" };
const batch = { name: "batch", label: "batch", kind: "log", least: 1, most: 1000, whole: true, usual: 1, engine: 1, flag: "--batch" };
const steps = { name: "epochs", label: "epochs", kind: "log", least: 1, most: 1000, whole: true, usual: 20, flag: "--epochs" };
const most = { name: "max_iter", label: "maximum steps", kind: "log", least: 1, most: 2000, whole: true, usual: 200, flag: "--max-iter" };
const solver = (...choices) => ({ name: "solver", label: "solver", kind: "choice", flag: "--solver", choices: ["auto", ...choices], usual: "auto" });
const smooth = ["gradient-descent", "sgd", "newton", "bfgs", "lbfgs"];

/** Settings that only apply to some solvers. */
const ONLY = {
  learning_rate: ["gradient-descent", "sgd"],
  schedule: ["gradient-descent", "sgd"],
  momentum: ["gradient-descent", "sgd"],
  start: ["gradient-descent", "sgd", "newton", "bfgs", "lbfgs"],
  batch: ["sgd"],
  seed: ["sgd"],
  epochs: ["sgd"],
  max_iter: ["gradient-descent"],
};
const descent = [{ ...rate, optional: true, usual: 0.5 }, schedule, halving, momentum, batch, seed, steps, most, start];

export const METHODS = [
  { name: "perceptron", label: "perceptron", group: "mistakes", python: "Perceptron", settings: [rate, schedule, halving, rule, seed, ties, epochs, start, bias] },
  { name: "online-perceptron", label: "online perceptron", group: "mistakes", settings: [rate, { ...order, usual: "cyclic", engine: "cyclic" }, seed, passes, bias] },
  { name: "voted-perceptron", label: "voted perceptron", group: "mistakes", python: "VotedPerceptron", settings: [order, seed, { ...passes, usual: 10 }, bias] },
  { name: "averaged-perceptron", label: "averaged perceptron", group: "mistakes", python: "AveragedPerceptron", settings: [order, seed, { ...passes, usual: 10 }, bias] },
  { name: "pocket", label: "pocket", group: "mistakes", python: "PocketPerceptron", settings: [{ ...rule, usual: "shuffled", engine: "shuffled" }, seed, { ...passes, usual: 20 }, bias] },
  { name: "kozinec", label: "Kozinec", group: "margin", python: "Kozinec",
    settings: [{ name: "epsilon", label: "ε", kind: "log", least: 1e-4, most: 0.5, usual: 0.05, flag: "--epsilon" }, rule] },
  { name: "hard-margin", label: "hard margin", group: "margin", python: "HardMarginClassifier", settings: [bias] },
  { name: "svm", label: "soft margin (SVM)", group: "margin", python: "LinearSVC",
    settings: [cost, { name: "loss", label: "loss", kind: "choice", flag: "--loss", choices: ["hinge", "squared-hinge"], usual: "hinge", engine: "hinge" },
      { ...penalty("l2"), choices: ["l1", "l2", "elastic-net"] }, solver("sgd", "dual-coordinate-descent", "interior-point"), ...descent, bias] },
  { name: "logistic", label: "logistic regression", group: "probability", python: "LogisticRegression", two: true,
    settings: [cost, penalty("l2"), { name: "loss", label: "loss", kind: "choice", flag: "--loss", choices: ["logistic", "sigmoid-mse"], usual: "logistic", engine: "logistic" },
      solver(...smooth), ...descent, bias] },
  { name: "softmax", label: "softmax", group: "probability", python: "LogisticRegression", settings: [cost, penalty("l2"), solver(...smooth)] },
  { name: "lda", label: "linear discriminant", group: "probability", python: "LinearDiscriminantAnalysis", settings: [] },
  { name: "gaussian", label: "Gaussian classes", group: "probability", settings: [] },
  { name: "naive-bayes", label: "naive Bayes", group: "probability", python: "GaussianNB", settings: [] },
  { name: "minimax", label: "minimax prototypes", group: "probability", settings: [] },
  { name: "mse-classifier", label: "least squares on ±1", group: "errors", python: "RidgeClassifier", settings: [penalty("none", "l2"), cost, solver("gradient-descent", "sgd"), ...descent, bias] },
  { name: "min-error", label: "fewest errors", group: "errors", python: "MinErrorClassifier", two: true, settings: [] },
  { name: "least-squares", label: "least squares", group: "regression", python: "LinearRegression", regression: true,
    settings: [penalty("none"), cost, solver("gradient-descent", "sgd", "bfgs", "normal-equations", "qr"), ...descent, bias] },
  { name: "lad", label: "least absolute deviations", group: "regression", python: "QuantileRegressor", regression: true, settings: [penalty("none"), cost] },
];

export const GROUPS = {
  mistakes: "learning from mistakes",
  margin: "margins",
  probability: "probabilities",
  errors: "errors",
  regression: "regression (x₂ from x₁)",
};

/** The method of this name. */
export const method = (name) => METHODS.find((one) => one.name === name) ?? METHODS[0];

/** The value of a setting, or its initial value if it was not set. */
export const value = (scene, setting) => scene.settings[setting.name] ?? setting.usual;

/** Whether a setting applies to the scene. */
export function applies(scene, setting) {
  const own = method(scene.method).settings;
  const chosen = own.find((one) => one.name === "solver");
  const set = (name) => value(scene, own.find((one) => one.name === name) ?? {});
  if (setting.name === "C" && set("penalty") === "none") return false;
  if (setting.name === "schedule" && chosen && scene.settings.learning_rate === undefined) return false;
  if (setting.name === "halving") return set("schedule") === "halving" && applies(scene, own.find((one) => one.name === "schedule"));
  if (setting.name === "seed" && !chosen) return set("rule") === "shuffled";
  if (!chosen || !(setting.name in ONLY)) return true;
  return ONLY[setting.name].includes(value(scene, chosen));
}

/** The settings that are sent to the engine: those that differ from its defaults. */
function given(scene) {
  return method(scene.method).settings.filter((setting) => {
    if (!applies(scene, setting) || setting.kind === "seed") return false;
    const now = value(scene, setting);
    if (setting.optional) return scene.settings[setting.name] !== undefined;
    if (now === setting.engine) return false;
    return now !== undefined && now !== "" && now !== "auto" && now !== false;
  });
}

/** The numbers of a vector as typed; null if the text is not a vector. */
export function numbers(text) {
  const parts = String(text).split(/[\s,;]+/).filter((word) => word !== "");
  const read = parts.map((word) => Number(word.replace("−", "-")));
  return parts.length > 0 && read.every(Number.isFinite) ? read : null;
}

/** The settings as the engine expects them. */
export function settings(scene) {
  const sent = { method: scene.method, no_intercept: false, seed: scene.seed };
  for (const setting of given(scene)) {
    const now = value(scene, setting);
    if (setting.name === "halving") sent.schedule = { halving: { first: now } };
    else if (setting.name === "schedule" && now === "halving") continue;
    else if (setting.kind === "vector") sent[setting.name] = numbers(now);
    else sent[setting.name] = now;
  }
  return sent;
}

/** The settings as flags of the command line. */
export function flags(scene) {
  const words = ["--method", scene.method];
  for (const setting of given(scene)) {
    const now = value(scene, setting);
    if (setting.kind === "switch") words.push(setting.flag);
    else if (setting.kind === "vector") words.push(`${setting.flag}=${(numbers(now) ?? []).join(",")}`);
    else words.push(setting.flag, String(now));
  }
  if (scene.seed) words.push("--seed", String(scene.seed));
  return words;
}
