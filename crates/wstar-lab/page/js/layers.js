// The layers above the points: boundaries, margin band, support vectors, slacks, updates, hulls, proofs.

import { polygonHull } from "../vendor/d3.js";
import { find, s, short } from "./dom.js";
import * as geometry from "./geometry.js";
import { colour } from "./marks.js";

/** Maximum number of support vectors that are labelled with their multipliers. */
const MOST_NUMBERS = 14;
/** Maximum number of support vectors that are marked at all. */
const MOST_RINGS = 3000;

export function drawLayers(plane, shown) {
  find("layers").replaceChildren(
    ...hulls(plane, shown),
    ...slacks(plane, shown),
    ...former(plane, shown),
    ...boundary(plane, shown),
    ...support(plane, shown),
    ...update(plane, shown),
    ...proof(plane, shown),
  );
}

function lineAt(plane, hyperplane, level, attributes) {
  const found = geometry.segment(plane.view, hyperplane, level);
  if (!found) return [];
  const [[x1, y1], [x2, y2]] = found.map(([x, y]) => plane.toPixel(x, y));
  return [s("line", { x1, y1, x2, y2, ...attributes })];
}

function boundary(plane, { planes, regression, band, regions }) {
  if (!planes || regions) return [];
  if (regression) return regressionLine(plane, planes[0], "boundary");
  if (planes.length === 1) {
    const [own] = planes;
    const levels = band ? [-band, band] : [];
    const sides = levels.flatMap((level) => [
      ...lineAt(plane, own, level, { class: "level" }),
      ...levelName(plane, own, level, band),
    ]);
    return [...sides, ...lineAt(plane, own, 0, { class: "boundary", "data-boundary": vectorOf(own) })];
  }
  // The boundaries between regions: the edges of their polygons, except those along the edges of the view.
  return geometry.regions(plane.view, planes).filter((polygon) => polygon.length > 2).map((polygon) => {
    const { x, y } = plane.view;
    const inside = ([a, b], [c, d]) => !((a === c && (a === x[0] || a === x[1])) || (b === d && (b === y[0] || b === y[1])));
    const path = polygon.map((from, i) => [from, polygon[(i + 1) % polygon.length]])
      .filter(([from, to]) => inside(from, to))
      .map(([from, to]) => `M${plane.toPixel(...from)}L${plane.toPixel(...to)}`).join("");
    return s("path", { d: path, class: "boundary" });
  });
}

const vectorOf = (own) => [own.intercept, ...own.weights].join(",");

function regressionLine(plane, own, kind) {
  const [a, b] = plane.view.x;
  const [w] = own.weights;
  const [[x1, y1], [x2, y2]] = [a, b].map((x) => plane.toPixel(x, w * x + own.intercept));
  return [s("line", { x1, y1, x2, y2, class: kind, "clip-path": "url(#inside)", "data-boundary": vectorOf(own) })];
}

function levelName(plane, own, level, band) {
  const found = geometry.segment(plane.view, own, level);
  if (!found || band !== 1) return [];
  const [x, y] = plane.toPixel(...found[1][1] > found[0][1] ? found[1] : found[0]);
  const { left, right, top } = plane.edges;
  const position = { x: Math.min(right - 12, Math.max(left + 12, x)), y: Math.max(top + 14, y + 14) };
  return [s("text", { ...position, class: "level-name", "text-anchor": "middle" }, level > 0 ? "+1" : "−1")];
}

/** The hyperplane before the step. */
function former(plane, { before, regression }) {
  if (!before || before.length !== 1) return [];
  if (regression) return regressionLine(plane, before[0], "former");
  return lineAt(plane, before[0], 0, { class: "former" });
}

/** The point of the step and, after a mistake, the normals before and after the update. */
function update(plane, { row, mistake, planes, before, points, regression }) {
  if (row === null || row === undefined || regression || points.x[row] === undefined) return [];
  const [x, y] = plane.toPixel(points.x[row], points.y[row]);
  const marks = [s("circle", { cx: x, cy: y, r: 12, class: mistake ? "current mistaken" : "current" })];
  if (mistake && planes?.length === 1 && before?.length === 1) {
    marks.push(...normal(plane, before[0], "former"), ...normal(plane, planes[0], "turned"));
  }
  return marks;
}

/** An arrow from the boundary towards the positive side. */
function normal(plane, own, kind) {
  const found = geometry.segment(plane.view, own);
  if (!found) return [];
  const [[x1, y1], [x2, y2]] = found.map(([x, y]) => plane.toPixel(x, y));
  const middle = [(x1 + x2) / 2, (y1 + y2) / 2];
  const towards = [plane.across(own.weights[0]) - plane.across(0), plane.up(own.weights[1]) - plane.up(0)];
  const length = Math.hypot(...towards) || 1;
  const tip = middle.map((value, i) => value + (46 * towards[i]) / length);
  const attributes = { x1: middle[0], y1: middle[1], x2: tip[0], y2: tip[1], class: `normal ${kind}`, "marker-end": `url(#tip-${kind})` };
  return [s("line", attributes)];
}

function support(plane, { support: vectors, points }) {
  if (!vectors || vectors.length > MOST_RINGS) return [];
  const numbered = [];
  return vectors.filter(({ row }) => points.x[row] !== undefined).flatMap(({ row, alpha }) => {
    const [x, y] = plane.toPixel(points.x[row], points.y[row]);
    const ring = s("circle", { cx: x, cy: y, r: 10, class: "support", "data-row": row });
    const covered = numbered.some(([a, b]) => Math.abs(a - x) < 60 && Math.abs(b - y) < 14);
    if (vectors.length > MOST_NUMBERS || alpha === undefined || covered) return [ring];
    numbered.push([x, y]);
    return [ring, s("text", { x: x + 13, y: y + 4, class: "alpha" }, `α ${short(alpha, 3)}`)];
  });
}

/** The slacks: segments from points to their side of the margin. */
function slacks(plane, { support: vectors, planes, points, classOf }) {
  if (!vectors || planes?.length !== 1 || vectors.length > MOST_RINGS) return [];
  return vectors.filter(({ slack, row }) => slack > 1e-9 && points.x[row] !== undefined).map(({ row }) => {
    const level = classOf(points.c[row]) === 1 ? 1 : -1;
    const [x1, y1] = plane.toPixel(points.x[row], points.y[row]);
    const [x2, y2] = plane.toPixel(...geometry.foot(planes[0], points.x[row], points.y[row], level));
    return s("line", { x1, y1, x2, y2, class: "slack", stroke: colour(points.c[row]) });
  });
}

function hulls(plane, { verdict, points }) {
  if (!verdict) return [];
  const byClass = new Map();
  points.x.forEach((x, i) => {
    const code = points.c[i];
    if (!byClass.has(code)) byClass.set(code, []);
    byClass.get(code).push([x, points.y[i]]);
  });
  return [...byClass].map(([code, all]) => [code, polygonHull(all)]).filter(([, hull]) => hull).map(([code, hull]) => {
    const path = `M${hull.map(([x, y]) => plane.toPixel(x, y).join(",")).join("L")}Z`;
    return s("path", { d: path, class: "hull", stroke: colour(code), fill: colour(code) });
  });
}

/** The points of the proof: those whose hulls intersect, or the nearest points of the hulls. */
function proof(plane, { verdict, points }) {
  if (!verdict) return [];
  return verdict.pairs.flatMap((pair) => {
    const marks = [];
    if (pair.proof) {
      const rows = pair.proof.points;
      marks.push(...proofHulls(plane, points, rows));
      rows.forEach((row, i) => {
        const [x, y] = plane.toPixel(points.x[row], points.y[row]);
        marks.push(s("circle", { cx: x, cy: y, r: 11, class: "proving", "data-row": row }));
        const text = { x: x + 14, y: y - 8, class: "alpha" };
        if (rows.length <= 8) marks.push(s("text", text, `λ ${pair.proof.weights[i].length > 9 ? short(fraction(pair.proof.weights[i]), 3) : pair.proof.weights[i]}`));
      });
      const [x, y] = plane.toPixel(...meeting(points, pair.proof));
      marks.push(s("path", { d: `M${x - 7},${y}H${x + 7}M${x},${y - 7}V${y + 7}`, class: "meeting" }));
    } else if (pair.hulls) {
      const ends = [pair.hulls.positive, pair.hulls.negative].map((side) => mean(points, side));
      const [[x1, y1], [x2, y2]] = ends.map(([x, y]) => plane.toPixel(x, y));
      marks.push(s("line", { x1, y1, x2, y2, class: "nearest" }));
      ends.forEach(([x, y]) => marks.push(s("circle", { cx: plane.across(x), cy: plane.up(y), r: 4, class: "nearest-end" })));
    }
    return marks;
  });
}

function proofHulls(plane, points, rows) {
  const sides = new Map();
  rows.forEach((row) => sides.set(points.c[row], [...(sides.get(points.c[row]) ?? []), row]));
  return [...sides].filter(([, own]) => own.length > 1).map(([code, own]) => {
    const all = own.map((row) => [points.x[row], points.y[row]]);
    const outline = polygonHull(all) ?? all;
    return s("path", { d: `M${outline.map(([x, y]) => plane.toPixel(x, y).join(",")).join("L")}Z`, class: "proof-hull", stroke: colour(code), fill: colour(code) });
  });
}

/** The value of a fraction such as "3/4". */
export function fraction(text) {
  const [above, below = "1"] = text.split("/");
  // If both numbers are too long for a double, the same number of digits is removed from each.
  const spare = Math.max(0, Math.min(above.length, below.length) - 15);
  return Number(above.slice(0, above.length - spare) || 0) / Number(below.slice(0, below.length - spare) || 1);
}

function meeting(points, { points: rows, weights }) {
  const first = points.c[rows[0]];
  const own = rows.map((row, i) => [row, fraction(weights[i])]).filter(([row]) => points.c[row] === first);
  return mean(points, own);
}

function mean(points, weighted) {
  const total = weighted.reduce((sum, [, weight]) => sum + weight, 0) || 1;
  const along = (values) => weighted.reduce((sum, [row, weight]) => sum + (weight / total) * values[row], 0);
  return [along(points.x), along(points.y)];
}
