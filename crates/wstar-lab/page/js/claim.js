// What is claimed, in one sentence that follows the step; and the numbers and the theorem behind it.

import { count, h, math, plural, short } from "./dom.js";

const { formula, frac, sup, sub, root, row } = math;
const squared = (base) => sup(base, 2);

/** The sentence, its numbers and its theorem, for a fit at a frame. */
export function claim(fit, frame, scene) {
  const make = MAKERS[fit.certificate.kind] ?? MAKERS.none;
  const made = make(fit.certificate, frame, fit, scene);
  return { holds: fit.holds, ...made };
}

const MAKERS = {
  "mistake-bound": mistakes,
  separation,
  "duality-gap": gap,
  stationarity,
  "min-error": fewest,
  "hard-margin": widest,
  "maximum-likelihood": (certificate) => ({
    sentence: [`Every parameter is the data's own estimate, to ${short(certificate.deviation)}.`],
    numbers: [["log-likelihood", certificate.log_likelihood], ["largest deviation", certificate.deviation]],
    theorem: ["Means, covariances and shares of the classes maximise the likelihood of the points.",
      "Each is recomputed from its definition, and compared."],
  }),
  "enclosing-ball": (certificate) => ({
    sentence: [`No smaller ball holds a class: radius ${certificate.radii.map(([, upper]) => short(upper)).join(", ")}.`],
    numbers: certificate.radii.flatMap(([lower, upper], k) => [[`class ${k + 1}: at least`, lower], ["at most", upper]]),
    theorem: ["The Gaussian mean that makes the least likely point likeliest is the centre of the smallest ball.",
      "A few points on its sphere, whose hull holds the centre, show that no smaller ball will do."],
  }),
  none: () => ({ sentence: ["Nothing is claimed."], numbers: [], theorem: [] }),
};

function mistakes({ parts }, frame, fit) {
  const bound = parts.reduce((sum, part) => (part.bound === null ? NaN : sum + part.bound), 0);
  const made = frame.mistakes ?? parts.reduce((sum, part) => sum + part.updates, 0);
  const all = parts.reduce((sum, part) => sum + part.updates, 0);
  const [part] = parts;
  const sentence = [`${plural(made, "mistake")} so far`];
  if (Number.isFinite(bound)) {
    sentence.push(`, at most ${bound < 1e15 ? count(bound) : short(bound)} possible`);
    if (parts.length === 1) sentence.push(": ", bounded(part));
  }
  sentence.push(".");
  if (!fit.success) sentence.push(" It has not come to rest: ", h("button", { class: "inline", "data-do": "prove" }, "can a line separate these?"));
  return {
    sentence,
    made,
    bound,
    numbers: [
      ["mistakes in all", all], ["R, the longest (x, 1)", part.radius], ["γ, a margin that is reached", part.margin],
      ["D, the slack it needs", part.slack], ["bound", part.bound],
    ],
    theorem: part.slack > 0
      ? [["No line separates, so the bound counts slack (Freund and Schapire 1999):"],
        [formula(sup(row("(", frac(row("R", "+", root("k"), "D"), "γ"), ")"), 2))],
        ["k passes may meet each point k times."]]
      : [["Every mistake moves ", formula("w"), " towards the separator by at least γ, and lengthens it by at most R² squared:"],
        [formula("M", "γ", "≤", math.name("u"), "·", sub("w", "M"), "≤", "‖", sub("w", "M"), "‖", "≤", root("M"), "R")],
        ["so ", formula("M", "≤", frac(squared("R"), squared("γ"))), " (Novikoff 1962)."]],
  };
}

function bounded(part) {
  if (part.conditions?.schedule !== "constant") return h("span", {}, "counted with its rates");
  if (part.conditions?.start) return h("span", {}, "counted from its start");
  if (part.slack > 0) return formula(sup(row("(", "R", "+", root("k"), "D", ")"), 2), "/", squared("γ"));
  return formula(frac(squared("R"), squared("γ")), "=", frac(squared(part.radius), squared(part.margin)));
}

function separation({ parts }, frame) {
  const lower = frame.final ? Math.min(...parts.map((part) => part.lower)) : frame.lower;
  const upper = frame.final ? Math.min(...parts.map((part) => part.upper)) : frame.upper;
  const known = upper !== undefined && upper !== null;
  const settled = frame.final && !(lower > 0);
  const sentence = settled
    ? [`No line is found, and none has a margin above ${short(upper)}: `, h("button", { class: "inline", "data-do": "prove" }, "can a line separate these?")]
    : known
    ? [lower > 0 ? `This line has a margin of ${short(lower)}` : "No line is found yet", `, and none has more than ${short(upper)}.`]
    : ["Two points, one of each class: the line between them comes next."];
  return {
    sentence,
    numbers: [["lower end", lower], ["upper end", upper], ["ε", parts[0].epsilon]],
    theorem: [
      ["Points p and q of the two hulls bound every margin: a line with margin γ keeps the hulls 2γ apart, so ", formula("γ", "≤", frac(row("‖", "p", "−", "q", "‖"), 2)), "."],
      ["Kozinec's step moves p or q towards the point that contradicts them."],
      ["It ends when the line's own margin comes within the share ε of the upper end."],
    ],
  };
}

function gap({ parts }, frame, fit) {
  const sum = (name) => parts.reduce((total, part) => total + part[name], 0);
  const worst = Math.max(...parts.map((part) => part.relative_gap));
  if (fit.status === "Diverging") {
    return {
      sentence: ["There is no optimum: the classes are separated, and the likelihood keeps rising as ‖w‖ grows."],
      numbers: [["P", sum("primal")]],
      theorem: [["A separator v scaled by t makes every ", formula("y", "(", "v", "·", "x", ")"), " grow, so every term of the loss falls towards 0 and none stays."],
        ["A penalty, or Firth's correction, has a finite optimum here too."]],
    };
  }
  const now = !frame.final && frame.gap !== undefined && frame.gap !== null ? frame.gap : null;
  const between = !frame.final && now === null && frame.objective !== undefined;
  const sentence = now !== null
    ? [`At this step within ${short(now, 3)} of the least possible objective, relatively.`]
    : between || (!frame.final && frame.step === undefined)
      ? [`On the way: P = ${short(frame.objective ?? NaN, 5)}, the least is ${short(sum("primal"), 5)}.`]
      : [`No w has an objective below ${short(sum("dual"), 8)}; this one has ${short(sum("primal"), 8)}: ${worst > 0 ? `within ${short(worst, 3)}, relatively` : "they meet"}.`];
  return {
    sentence,
    numbers: [["P, the objective", sum("primal")], ["D, the bound below", sum("dual")], ["P − D", sum("gap")], ["relatively", worst], ["asked for", parts[0].tol], ...cases(fit)],
    theorem: [
      ["For multipliers α, one a point, the dual value D(α) is below every P(w)."],
      ["At the optimum they meet: ", formula("P", "(", sup("w", "*"), ")", "=", "D", "(", sup("α", "*"), ")"), "."],
      ["So P − D bounds what is missing, whoever found w. It is recomputed from the points."],
    ],
  };
}

/** The three cases of complementary slackness, counted. */
function cases({ soft }) {
  if (!soft || soft.length !== 1) return [];
  const [sums] = soft;
  return [["outside, α = 0", sums.outside], ["on the edge, 0 < α < C", sums.on_margin], ["inside, α = C", sums.inside], ["most that a point misses of its case", sums.slackness]];
}

function stationarity({ parts }, frame, fit) {
  const slope = Math.max(...parts.map((part) => part.slope));
  const rest = fit.holds ? "a stationary point" : "not at rest yet";
  return {
    sentence: [`The slope is ${short(slope)}: ${rest}. The loss is not convex, so no more can be claimed.`],
    numbers: [["objective", parts[0].objective], ["slope", slope]],
    theorem: ["The squared error of a sigmoid has flat parts and more than one valley.", "A zero slope there may be any of them; cross-entropy has one valley only."],
  };
}

function fewest({ errors, cost, lower_bound: lower, proof }) {
  const proved = lower >= cost;
  const by = proof === "circuits" ? "by circuits: sets of points no line gets all right" : "by going through all lines";
  return {
    sentence: [proved ? `${plural(errors, "error")}, and no line makes fewer: proved ${by}.` : `${plural(errors, "error")}; at least ${short(lower)} are proved.`],
    numbers: [["errors", errors], ["at least", lower]],
    theorem: ["In the plane every line can be moved until it touches two points without changing what it gets wrong.",
      "So finitely many lines stand for all, and the best of them is the best of all."],
  };
}

function widest({ parts }) {
  const [part] = parts;
  const distance = Math.sqrt(0.5 / part.primal);
  return {
    sentence: [`Margin ${short(distance)} on either side (`, formula(frac(1, row("‖", "w", "‖"))), `), and no line has more: ½‖w‖² is within ${short(Math.max(0, part.relative_gap), 3)} of its bound.`],
    numbers: [["½‖w‖²", part.primal], ["bound below", part.dual], ["width 2/‖w‖", 2 * distance], ["support vectors", part.support.length], ["largest α(y(w·x+b) − 1)", part.slackness]],
    theorem: [
      ["w is made of its support vectors: ", formula("w", "=", "∑", sub("α", "i"), sub("y", "i"), sub("x", "i")), "."],
      ["Their multipliers are points of the two hulls, whose distance no margin exceeds."],
      ["Complementary slackness: ", formula(sub("α", "i"), "(", sub("y", "i"), "(", "w", "·", sub("x", "i"), "+", "b", ")", "−", 1, ")", "=", 0), " for every point."],
    ],
  };
}

/** How classes lie, as the proof tells. */
export function verdict({ pairs }, classes) {
  return pairs.map((pair) => {
    const names = `${classes[pair.negative]} and ${classes[pair.positive]}`;
    if (!pair.verdict) return `${names}: undecided.`;
    if (pair.verdict === "separable") {
      return `A line separates ${names}: the best margin lies between ${short(pair.margin.lower)} and ${short(pair.margin.upper)}.`;
    }
    const points = pair.proof.points.length;
    const exact = pair.proof.exact ? "exactly" : "all but exactly";
    if (pair.verdict === "inseparable") {
      return `No line separates ${names}: the highlighted ${points} points prove it. Weighted by λ, those of each class meet ${exact} at the cross.`;
    }
    return `No line separates ${names} strictly, but one has no point on its wrong side: the hulls touch at the cross.`;
  });
}
