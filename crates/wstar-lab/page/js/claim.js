// The claim of a certificate in one sentence for the current step, with its numbers and its theorem.

import { count, h, math, plural, short } from "./dom.js";

const { formula, frac, sup, sub, root, row } = math;
const squared = (base) => sup(base, 2);

/** The sentence, the numbers and the theorem for a frame of a fit. */
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
    sentence: [`Every parameter is the maximum-likelihood estimate, to ${short(certificate.deviation)}.`],
    numbers: [["log-likelihood", certificate.log_likelihood], ["largest deviation", certificate.deviation]],
    theorem: ["The means, covariances and proportions of the classes maximise the likelihood of the points.",
      "Each is recomputed from its definition and compared with the model."],
  }),
  "enclosing-ball": (certificate) => ({
    sentence: [`No smaller ball contains a class: radius ${certificate.radii.map(([, upper]) => short(upper)).join(", ")}.`],
    numbers: certificate.radii.flatMap(([lower, upper], k) => [[`class ${k + 1}: at least`, lower], ["at most", upper]]),
    theorem: ["The Gaussian mean that makes the least likely point likeliest is the centre of the smallest ball.",
      "Some points lie on its sphere, and their convex hull contains the centre. So no smaller ball contains all points."],
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
  if (!fit.success) sentence.push(" It has not converged: ", h("button", { class: "inline", "data-do": "prove" }, "can a line separate these?"));
  return {
    sentence,
    made,
    bound,
    numbers: [
      ["total mistakes", all], ["R, the largest norm of (x, 1)", part.radius], ["γ, an attained margin", part.margin],
      ["D, the norm of the slacks", part.slack], ["bound", part.bound],
    ],
    theorem: part.slack > 0
      ? [["No line separates the classes, so the bound includes slack (Freund and Schapire 1999):"],
        [formula(sup(row("(", frac(row("R", "+", root("k"), "D"), "γ"), ")"), 2))],
        ["In k passes each point can be misclassified k times."]]
      : [["Let ", formula("u"), " be the unit normal of a separator with margin γ. Every mistake increases ", formula("u", "·", "w"), " by at least γ and ", formula(squared(row("‖", "w", "‖"))), " by at most R²:"],
        [formula("M", "γ", "≤", math.name("u"), "·", sub("w", "M"), "≤", "‖", sub("w", "M"), "‖", "≤", root("M"), "R")],
        ["so ", formula("M", "≤", frac(squared("R"), squared("γ"))), " (Novikoff 1962)."]],
  };
}

function bounded(part) {
  if (part.conditions?.schedule !== "constant") return h("span", {}, "a bound for its learning rates");
  if (part.conditions?.start) return h("span", {}, "a bound for its starting point");
  if (part.slack > 0) return formula(sup(row("(", "R", "+", root("k"), "D", ")"), 2), "/", squared("γ"));
  return formula(frac(squared("R"), squared("γ")), "=", frac(squared(part.radius), squared(part.margin)));
}

function separation({ parts }, frame) {
  const lower = frame.final ? Math.min(...parts.map((part) => part.lower)) : frame.lower;
  const upper = frame.final ? Math.min(...parts.map((part) => part.upper)) : frame.upper;
  const known = upper !== undefined && upper !== null;
  const settled = frame.final && !(lower > 0);
  const sentence = settled
    ? [`No separating line was found, and none has a margin above ${short(upper)}: `, h("button", { class: "inline", "data-do": "prove" }, "can a line separate these?")]
    : known
    ? [lower > 0 ? `This line has a margin of ${short(lower)}` : "No separating line was found yet", `, and none has more than ${short(upper)}.`]
    : ["No bound yet: the method starts from one point of each class."];
  return {
    sentence,
    numbers: [["lower bound", lower], ["upper bound", upper], ["ε", parts[0].epsilon]],
    theorem: [
      ["Points p and q of the two convex hulls bound every margin: a line with margin γ separates the hulls by at least 2γ, so ", formula("γ", "≤", frac(row("‖", "p", "−", "q", "‖"), 2)), "."],
      ["Each step of Kozinec's algorithm moves p or q towards a point that violates the current margin."],
      ["It stops when the margin of the line is within the relative tolerance ε of the upper bound."],
    ],
  };
}

function gap({ parts }, frame, fit) {
  const sum = (name) => parts.reduce((total, part) => total + part[name], 0);
  const worst = Math.max(...parts.map((part) => part.relative_gap));
  if (fit.status === "Diverging") {
    return {
      sentence: ["There is no optimum: the classes are separable, and the likelihood keeps increasing as ‖w‖ grows."],
      numbers: [["P", sum("primal")]],
      theorem: [["Let v separate the classes. As t grows, every ", formula("y", "(", "t", "v", "·", "x", ")"), " increases, so every term of the loss decreases towards 0 without reaching it."],
        ["With a penalty or Firth's correction a finite optimum exists."]],
    };
  }
  const now = !frame.final && frame.gap !== undefined && frame.gap !== null ? frame.gap : null;
  const between = !frame.final && now === null && frame.objective !== undefined;
  const sentence = now !== null
    ? [`At this step the objective is within ${short(now, 3)} of the optimum, relatively.`]
    : between || (!frame.final && frame.step === undefined)
      ? [`At this step P = ${short(frame.objective ?? NaN, 5)}; the optimum is ${short(sum("primal"), 5)}.`]
      : [`No w has an objective below ${short(sum("dual"), 8)}; this w has ${short(sum("primal"), 8)}: ${worst > 0 ? `a relative gap of ${short(worst, 3)}` : "the gap is 0"}.`];
  return {
    sentence,
    numbers: [["P, the objective", sum("primal")], ["D, the lower bound", sum("dual")], ["P − D", sum("gap")], ["relative gap", worst], ["tolerance", parts[0].tol], ...cases(fit)],
    theorem: [
      ["For any multipliers α, one for each point, the dual value D(α) is a lower bound on every P(w)."],
      ["At the optimum both are equal: ", formula("P", "(", sup("w", "*"), ")", "=", "D", "(", sup("α", "*"), ")"), "."],
      ["So P − D bounds the distance of P from its optimum, however w was found. It is recomputed from the points."],
    ],
  };
}

/** The number of points in each of the three cases of complementary slackness. */
function cases({ soft }) {
  if (!soft || soft.length !== 1) return [];
  const [sums] = soft;
  return [["outside, α = 0", sums.outside], ["on the edge, 0 < α < C", sums.on_margin], ["inside, α = C", sums.inside], ["largest violation of complementary slackness", sums.slackness]];
}

function stationarity({ parts }, frame, fit) {
  const slope = Math.max(...parts.map((part) => part.slope));
  const state = fit.holds ? "a stationary point" : "not stationary yet";
  return {
    sentence: [`The gradient is ${short(slope)}: ${state}. The loss is not convex, so no more can be claimed.`],
    numbers: [["objective", parts[0].objective], ["gradient, relative", slope]],
    theorem: ["The squared error of a sigmoid has plateaus and can have several local minima.", "The gradient is zero at each of them. Cross-entropy is convex and has a single minimum."],
  };
}

function fewest({ errors, cost, lower_bound: lower, proof }) {
  const proved = lower >= cost;
  const by = proof === "circuits" ? "by circuits, which are sets of points that no line classifies without an error" : "by enumeration of all lines";
  return {
    sentence: [proved ? `${plural(errors, "error")}, and no line makes fewer: proved ${by}.` : `${plural(errors, "error")}; at least ${short(lower)} are proved necessary.`],
    numbers: [["errors", errors], ["at least", lower]],
    theorem: ["In the plane every line can be moved to pass through two points without a change of its errors.",
      "So it is enough to compare finitely many lines."],
  };
}

function widest({ parts }) {
  const [part] = parts;
  const distance = Math.sqrt(0.5 / part.primal);
  return {
    sentence: [`Margin ${short(distance)} on each side (`, formula(frac(1, row("‖", "w", "‖"))), `), and no line has more: ½‖w‖² is within ${short(Math.max(0, part.relative_gap), 3)} of its lower bound.`],
    numbers: [["½‖w‖²", part.primal], ["lower bound", part.dual], ["width 2/‖w‖", 2 * distance], ["support vectors", part.support.length], ["largest α(y(w·x+b) − 1)", part.slackness]],
    theorem: [
      ["w is a combination of the support vectors: ", formula("w", "=", "∑", sub("α", "i"), sub("y", "i"), sub("x", "i")), "."],
      ["The multipliers define a point of each hull, and no margin exceeds half the distance of these points."],
      ["Complementary slackness: ", formula(sub("α", "i"), "(", sub("y", "i"), "(", "w", "·", sub("x", "i"), "+", "b", ")", "−", 1, ")", "=", 0), " for every point."],
    ],
  };
}

/** The verdict on each pair of classes in one sentence. */
export function verdict({ pairs }, classes) {
  return pairs.map((pair) => {
    const names = `${classes[pair.negative]} and ${classes[pair.positive]}`;
    if (!pair.verdict) return `${names}: undecided.`;
    if (pair.verdict === "separable") {
      return `A line separates ${names}: the best margin lies between ${short(pair.margin.lower)} and ${short(pair.margin.upper)}.`;
    }
    const points = pair.proof.points.length;
    const exact = pair.proof.exact ? "exactly" : "up to rounding";
    if (pair.verdict === "inseparable") {
      return `No line separates ${names}: the highlighted ${points} points prove it. With the weights λ, the means of both classes are ${exact} the same point, the cross.`;
    }
    return `No line separates ${names} strictly, but one has no point on its wrong side: the hulls touch at the cross.`;
  });
}
