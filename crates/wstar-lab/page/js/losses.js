// The losses as functions of the margin y(w·x + b), and the margins of the points.

import { axisBottom, axisLeft, line, scaleLinear, select } from "../vendor/d3.js";
import { find, s } from "./dom.js";
import { score } from "./geometry.js";
import { colour } from "./marks.js";

const SIZE = { width: 340, height: 170, left: 34, right: 10, top: 8, bottom: 36 };
const RANGE = [-3, 4];
const MOST_PAID = 4;
/** Maximum number of points whose margins are drawn; more would overlap. */
const MOST_POINTS = 400;

const LOSSES = {
  "0–1": (m) => (m > 0 ? 0 : 1),
  hinge: (m) => Math.max(0, 1 - m),
  "squared-hinge": (m) => Math.max(0, 1 - m) ** 2,
  logistic: (m) => Math.log1p(Math.exp(-m)),
  squared: (m) => (1 - m) ** 2 / 2,
  "sigmoid-mse": (m) => (1 / (1 + Math.exp(m))) ** 2,
};

/** The loss that the method of a scene minimises; null if it is not a function of the margin. */
function own(scene) {
  if (scene.method === "svm") return scene.settings.loss ?? "hinge";
  if (scene.method === "logistic") return scene.settings.loss ?? "logistic";
  return { "mse-classifier": "squared", "min-error": "0–1" }[scene.method] ?? null;
}

/** Draws the losses and the margins of the points of a frame. */
export function drawLosses(scene, frame, codes) {
  const name = own(scene);
  const plane = frame?.planes?.length === 1 && frame.planes[0].weights.length === 2 ? frame.planes[0] : null;
  const box = find("losses");
  box.hidden = !name || !plane || codes.length !== 2;
  if (box.hidden) return;
  const across = scaleLinear(RANGE, [SIZE.left, SIZE.width - SIZE.right]).clamp(true);
  const up = scaleLinear([0, MOST_PAID], [SIZE.height - SIZE.bottom, SIZE.top]);
  const margins = Array.from({ length: 141 }, (_, i) => RANGE[0] + (i / 140) * (RANGE[1] - RANGE[0]));
  const path = (loss) => line((m) => across(m), (m) => up(Math.min(MOST_PAID, loss(m)))).defined((m) => loss(m) <= MOST_PAID + 0.2)(margins);
  const bottom = s("g", { transform: `translate(0 ${SIZE.height - SIZE.bottom})` });
  const left = s("g", { transform: `translate(${SIZE.left} 0)` });
  select(bottom).call(axisBottom(across).ticks(7).tickSizeOuter(0));
  select(left).call(axisLeft(up).ticks(4).tickSizeOuter(0));
  find("losses-drawing").replaceChildren(
    bottom, left,
    ...Object.entries(LOSSES).filter(([other]) => other !== name && other !== "squared-hinge" && other !== "sigmoid-mse").map(([, loss]) => s("path", { d: path(loss), class: "other-loss" })),
    s("path", { d: path(LOSSES[name]), class: "series" }),
    ...rug(scene, plane, codes, across),
    s("text", { x: SIZE.width - SIZE.right, y: SIZE.height - 3, "text-anchor": "end" }, "margin y(w·x + b)"));
  find("losses-note").textContent = `Bold: ${name}. Thin: 0–1, hinge, logistic, squared. The marks are the margins of the points, clipped to the axis.`;
}

function rug({ points }, plane, codes, across) {
  if (points.x.length > MOST_POINTS) return [];
  const y = SIZE.height - SIZE.bottom;
  return points.x.map((x, i) => {
    const sign = codes.indexOf(points.c[i]) === 1 ? 1 : -1;
    const at = across(sign * score(plane, x, points.y[i]));
    return s("line", { x1: at, x2: at, y1: y - 7, y2: y - 1, stroke: colour(points.c[i]), class: "rug" });
  });
}
