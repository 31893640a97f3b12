// Contours of the objective over two of its parameters, with the path of the solver.

import { axisBottom, axisLeft, contours, extent, line, scaleLinear, select } from "../vendor/d3.js";
import { Refused, latest } from "./ask.js";
import { find, s, short } from "./dom.js";
import { method, settings } from "./methods.js";
import * as scenes from "./scene.js";

const EDGE = { left: 46, right: 10, top: 10, bottom: 36 };
/** Solvers whose contours are drawn next to the plane, because their path is the subject of the picture. */
const DESCENTS = ["gradient-descent", "sgd"];
const LEVELS = 14;
const asking = latest();
let scales = null;

const parameters = (plane, intercept) => [...plane.weights, ...(intercept ? [plane.intercept] : [])];

/** The two parameters that are drawn: the intercept and the slope of a line, or the two weights of a classifier. */
function axes(regression, intercept) {
  if (regression) return intercept ? { at: [1, 0], names: ["w₀", "w₁"] } : null;
  return { at: [0, 1], names: ["w₁", "w₂"] };
}

/** Draws the contours of a fit whose objective has two parameters that can be drawn. */
export async function drawSurface(scene, fit, frames) {
  const box = find("surface");
  const { regression } = method(scene.method);
  const intercept = !scene.settings.no_intercept;
  const chosen = axes(regression, intercept);
  const kind = fit?.certificate?.kind;
  const fits = chosen && (kind === "duality-gap" || kind === "stationarity") && fit.planes?.length === 1 && frames.length > 2;
  if (!fits) {
    box.hidden = true;
    find("pictures").classList.remove("two");
    return;
  }
  const best = parameters(fit.planes[0], intercept);
  const path = frames.map((frame) => parameters(frame.planes[0], intercept)).map((at) => chosen.at.map((j) => at[j]));
  const range = [0, 1].map((axis) => around(path.map((point) => point[axis]), kind === "stationarity" ? 1.5 : 0.35));
  let found;
  try {
    found = await asking("surface", { data: scenes.data(scene), settings: settings(scene), axes: chosen.at, at: best, range, steps: 60 });
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    box.hidden = true;
    return;
  }
  if (!found) return;
  const nextToPlane = DESCENTS.includes(scene.settings.solver);
  find(nextToPlane ? "pictures" : "aside").append(box);
  find("pictures").classList.toggle("two", nextToPlane);
  box.hidden = false;
  render(found, path, chosen.names, slice(regression, intercept, fit));
}

/** A range around a path; the values of a diverging run are left out. */
function around(values, share) {
  const finite = values.filter((value) => Math.abs(value) < 1e6);
  const [least, most] = extent(finite);
  const margin = share * (most - least || Math.max(1, Math.abs(most)));
  return [least - margin, most + margin];
}

function slice(regression, intercept, fit) {
  if (regression || !intercept) return "";
  return `the slice b = ${short(fit.planes[0].intercept)}`;
}

function render({ steps, range, values }, path, names, note) {
  const drawing = find("surface-drawing");
  const SIZE = { ...EDGE, width: Math.max(240, drawing.clientWidth), height: Math.max(200, drawing.clientHeight) };
  const across = scaleLinear(range[0], [SIZE.left, SIZE.width - SIZE.right]);
  const up = scaleLinear(range[1], [SIZE.height - SIZE.bottom, SIZE.top]);
  scales = { across, up, path };
  const sorted = [...values].sort((a, b) => a - b);
  const least = sorted[0];
  const most = sorted[Math.floor(0.97 * (sorted.length - 1))];
  // The levels are denser near the minimum, where the path ends.
  const levels = Array.from({ length: LEVELS }, (_, i) => least + (most - least) * ((i + 0.3) / LEVELS) ** 2);
  const cells = contours().size([steps, steps]).thresholds(levels)(values);
  const cell = (axis, value) => range[axis][0] + ((value - 0.5) / (steps - 1)) * (range[axis][1] - range[axis][0]);
  const ring = (points) => `M${points.map(([x, y]) => `${across(cell(0, x)).toFixed(1)},${up(cell(1, y)).toFixed(1)}`).join("L")}Z`;
  const bands = cells.map((one, i) => s("path", {
    d: one.coordinates.flatMap((polygon) => polygon.map(ring)).join(""),
    class: "contour", "fill-rule": "evenodd", "fill-opacity": (0.055 + 0.002 * i).toFixed(3),
  }));
  const bottom = s("g", { transform: `translate(0 ${SIZE.height - SIZE.bottom})` });
  const left = s("g", { transform: `translate(${SIZE.left} 0)` });
  select(bottom).call(axisBottom(across).ticks(6).tickSizeOuter(0));
  select(left).call(axisLeft(up).ticks(6).tickSizeOuter(0));
  const pathOf = line((point) => across(point[0]), (point) => up(point[1]));
  drawing.setAttribute("viewBox", `0 0 ${SIZE.width} ${SIZE.height}`);
  drawing.replaceChildren(
    s("clipPath", { id: "surface-inside" }, s("rect", { x: SIZE.left, y: SIZE.top, width: SIZE.width - SIZE.left - SIZE.right, height: SIZE.height - SIZE.top - SIZE.bottom })),
    s("g", { "clip-path": "url(#surface-inside)" },
      ...bands,
      s("path", { d: pathOf(path), class: "whole-path" }),
      s("path", { d: pathOf(path), class: "path", id: "surface-path" }),
      ...(path.length <= 400 ? path.map(([x, y]) => s("circle", { cx: across(x), cy: up(y), r: 2, class: "path-point" })) : []),
      s("circle", { r: 5, class: "path-now", id: "surface-now" })),
    bottom, left,
    s("text", { x: SIZE.width - SIZE.right, y: SIZE.height - 4, "text-anchor": "end", class: "axis-name" }, names[0]),
    s("text", { x: SIZE.left + 6, y: SIZE.top + 14, class: "axis-name" }, names[1]));
  find("surface-note").textContent = note;
  markSurface(path.length - 1);
}

/** Shows the path up to a step. */
export function markSurface(step) {
  if (!scales || find("surface").hidden) return;
  const { across, up, path } = scales;
  const at = path[Math.min(step, path.length - 1)];
  const pathOf = line((point) => across(point[0]), (point) => up(point[1]));
  find("surface-path").setAttribute("d", pathOf(path.slice(0, step + 1)));
  find("surface-now").setAttribute("cx", across(at[0]));
  find("surface-now").setAttribute("cy", up(at[1]));
}
