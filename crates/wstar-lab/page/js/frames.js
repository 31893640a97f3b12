// Converts the result of a fit into frames: one for the start and one for each step.

import { count, plural, short, vector } from "./dom.js";
import { score } from "./geometry.js";

const flat = (plane) => [plane.intercept, ...plane.weights];

/** The frames of a fit. The last one is always the model itself. */
export function frames(fit, scene) {
  // The iterates of a combinatorial search do not form a path that can be drawn. The same holds for several problems
  // that are solved one after the other, each with a line of its own.
  const several = fit.trace?.iterates.length > 0 && fit.trace.iterates[0].planes.length !== fit.planes?.length;
  const stepwise = !several && !["min-error", "hard-margin"].includes(fit.method);
  const { looks, iterates } = stepwise && fit.trace ? fit.trace : { looks: [], iterates: [] };
  const made = looks.length ? fromLooks(fit, scene) : iterates.length ? fromIterates(fit, scene) : [];
  const last = made.at(-1);
  if (!last) return [{ planes: fit.planes, text: closing(fit), final: true }];
  const same = fit.planes && last.planes.length === fit.planes.length
    && fit.planes.every((plane, k) => flat(plane).every((value, i) => value === flat(last.planes[k])[i]));
  if (same) last.final = true;
  else made.push({ ...last, planes: fit.planes, before: null, row: null, mistake: false, text: closing(fit), final: true });
  return made;
}

/** The text of the last frame if the result is not one of the steps. */
function closing(fit) {
  const texts = {
    "averaged-perceptron": "The result is the mean of all these hyperplanes.",
    "voted-perceptron": "The result is the vote of all these hyperplanes.",
    pocket: "The result is the best of these hyperplanes.",
    kozinec: "The result lies halfway between the nearest points of the two hulls.",
  };
  const solver = fit.solver ? `${fit.solver.name}: ` : "";
  return texts[fit.method] ?? `${solver}${fit.planes?.length === 1 ? `w = ${vector(flat(fit.planes[0]))}` : "the model"}`;
}

function startPlanes(problems, scene, features) {
  const given = scene.settings.start ? String(scene.settings.start).split(/[\s,;]+/).map(Number) : null;
  const bare = Boolean(scene.settings.no_intercept);
  const valid = given && given.length === features + Number(!bare) && given.every(Number.isFinite);
  const [intercept, ...weights] = valid ? [...(bare ? [0] : []), ...given] : Array(features + 1).fill(0);
  return Array.from({ length: problems }, () => ({ weights: [...weights], intercept }));
}

function fromLooks({ trace, certificate }, scene) {
  let planes = startPlanes(certificate.parts?.length ?? 1, scene, 2);
  const made = [{ planes, before: null, row: null, mistake: false, mistakes: 0, text: `start: w = ${vector(flat(planes[0]))}` }];
  trace.looks.forEach((look, i) => {
    const before = planes;
    planes = planes.map((plane, k) => (k === look.k ? look.plane : plane));
    const row = look.row;
    const point = [1, scene.points.x[row], scene.points.y[row]];
    const example = `row ${row}, score ${short(look.score)}`;
    const now = `w = ${vector(flat(look.plane))}`;
    let done = `${example}: correct, no change. ${now}`;
    if (look.mistake) {
      const change = flat(look.plane).map((value, j) => value - flat(before[look.k])[j]);
      const factor = change[0];
      const isMultiple = point.every((value, j) => Math.abs(change[j] - factor * value) <= 1e-9 * Math.max(1, Math.abs(change[j])));
      const added = isMultiple && factor !== 0
        ? `${factor > 0 ? "add" : "subtract"} ${Math.abs(factor) === 1 ? "" : `${short(Math.abs(factor))}·`}${vector(point)}`
        : "moved";
      done = `${example}: a mistake, ${added}. ${now}`;
    }
    made.push({
      planes,
      before: look.mistake && before.some((plane) => flat(plane).some((value) => value !== 0)) ? before : null,
      row,
      mistake: look.mistake,
      mistakes: look.mistakes,
      step: look.step,
      upper: look.upper,
      lower: trace.margins?.[i],
      text: done,
    });
  });
  return made;
}

function fromIterates({ trace, method }, scene) {
  const [first] = trace.iterates;
  const features = first.planes[0].weights.length;
  const start = startPlanes(first.planes.length, scene, features);
  const made = [{ planes: start, before: null, text: `start: w = ${vector(flat(start[0]))}` }];
  let objective = null;
  trace.iterates.forEach((point) => {
    objective = point.objective ?? objective;
    const words = [`${point.solver} ${count(point.step)}`];
    if (point.rate) words.push(`α = ${short(point.rate, 3)}`);
    if (point.objective !== null) words.push(`${method === "least-squares" ? "J" : "P"} = ${short(point.objective, 6)}`);
    if (point.gap !== null) words.push(`gap ${short(point.gap, 3)}`);
    if (point.planes.length === 1) words.push(`w = ${vector(flat(point.planes[0]))}`);
    made.push({ planes: point.planes, before: made.at(-1).planes, objective: point.objective, gap: point.gap, rate: point.rate, step: point.step, text: words.join(", ") });
  });
  return made;
}

/** The number of points that the planes of a frame misclassify. */
export function errors(planes, points, classOf, decide) {
  let wrong = 0;
  for (let i = 0; i < points.x.length; i += 1) {
    if (decide(planes, points.x[i], points.y[i]) !== classOf(points.c[i])) wrong += 1;
  }
  return wrong;
}

/** The terms of a point's score, followed by their sum. */
export function scoreTerms(plane, x, y, axes) {
  return [
    ["b", plane.intercept],
    [`${axes[0]}: ${short(plane.weights[0])} · ${short(x)}`, plane.weights[0] * x],
    [`${axes[1]}: ${short(plane.weights[1])} · ${short(y)}`, plane.weights[1] * y],
    ["sum", score(plane, x, y)],
  ];
}

/** "12 of 60 points". */
export const share = (wrong, rows) => `${count(wrong)} of ${plural(rows, "point")}`;
