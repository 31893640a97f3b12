// Charts of a fit by step: mistakes and their bound, the objective and the gap, the interval of the margin.

import { axisBottom, axisLeft, extent, line, scaleLinear, scaleLog, select } from "../vendor/d3.js";
import { find, h, s, short } from "./dom.js";

const SIZE = { width: 340, height: 132, left: 48, right: 10, top: 14, bottom: 24 };

/** Draws the charts for which the frames of a fit have values. */
export function drawCharts(frames, bound) {
  const box = find("charts");
  const charts = frames.length < 4 ? [] : chosen(frames, bound);
  box.replaceChildren(...charts.map((chart) => figure(chart, frames.length)));
  find("how").hidden = charts.length === 0;
}

function chosen(frames, bound) {
  const along = (name) => frames.map((frame, i) => [i, frame[name]]).filter(([, value]) => value !== undefined && value !== null && Number.isFinite(value));
  if (frames.some((frame) => frame.upper !== undefined)) {
    return [{ title: "margin: lower and upper bound", lines: [["lower", along("lower")], ["upper", along("upper")]] }];
  }
  if (frames.some((frame) => frame.mistakes !== undefined)) {
    const made = along("mistakes");
    const most = made.at(-1)?.[1] ?? 0;
    // A bound far above the mistakes would flatten their curve.
    const limit = Number.isFinite(bound) && bound <= 12 * Math.max(most, 1) ? bound : null;
    return [{ title: limit ? "mistakes and their bound" : "mistakes", lines: [["main", made]], limit, whole: true }];
  }
  const charts = [];
  const objective = along("objective");
  if (objective.length > 1) charts.push({ title: "objective", lines: [["main", objective]] });
  const gap = along("gap").filter(([, value]) => value > 0);
  if (gap.length > 1) charts.push({ title: "relative gap", lines: [["main", gap]], log: true });
  return charts;
}

function figure({ title, lines, limit = null, log = false, whole = false }, steps) {
  const values = lines.flatMap(([, all]) => all.map(([, value]) => value));
  const [least, most] = extent(limit === null ? values : [...values, limit]);
  const across = scaleLinear([0, steps - 1], [SIZE.left, SIZE.width - SIZE.right]);
  const ends = [SIZE.height - SIZE.bottom, SIZE.top];
  const up = log ? scaleLog([least, most], ends) : scaleLinear([whole ? 0 : least, most === least ? least + 1 : most], ends);
  const path = line((point) => across(point[0]), (point) => up(point[1]));
  const bottom = s("g", { transform: `translate(0 ${SIZE.height - SIZE.bottom})` });
  const left = s("g", { transform: `translate(${SIZE.left} 0)` });
  select(bottom).call(axisBottom(across).ticks(5).tickSizeOuter(0));
  const axis = axisLeft(up).ticks(4).tickSizeOuter(0);
  select(left).call(log ? axis.ticks(4, ".0e") : axis);
  const last = values.at(-1);
  const drawing = s("svg", { viewBox: `0 0 ${SIZE.width} ${SIZE.height}`, role: "img", "aria-label": `${title}: ${short(last)} at the end of ${steps - 1} steps` },
    bottom, left,
    ...(limit === null ? [] : [s("line", { x1: SIZE.left, x2: SIZE.width - SIZE.right, y1: up(limit), y2: up(limit), class: "limit" })]),
    ...lines.map(([kind, all]) => s("path", { d: path(all), class: `series ${kind}` })),
    s("line", { class: "now", y1: SIZE.top, y2: SIZE.height - SIZE.bottom, x1: across(steps - 1), x2: across(steps - 1) }));
  drawing.across = across;
  return h("figure", {}, h("figcaption", {}, title), drawing);
}

/** Moves the marker of the current step. */
export function markStep(step) {
  for (const drawing of find("charts").querySelectorAll("svg")) {
    const mark = drawing.querySelector(".now");
    mark.setAttribute("x1", drawing.across(step));
    mark.setAttribute("x2", drawing.across(step));
  }
}
