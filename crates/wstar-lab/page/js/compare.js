// Comparison of methods on the same points: a small picture, the errors and the time of each, and the minimum number of errors.

import { scaleLinear } from "../vendor/d3.js";
import { latest } from "./ask.js";
import { find, h, plural, short } from "./dom.js";
import * as geometry from "./geometry.js";
import { drawPoints, tint } from "./marks.js";
import { METHODS } from "./methods.js";
import * as scenes from "./scene.js";

const USUAL = ["perceptron", "averaged-perceptron", "mse-classifier", "logistic", "svm", "min-error"];
const asking = latest();
let chosen = [...USUAL];

/** Compares the chosen methods on the points of the scene. */
export async function compare(scene, view) {
  const two = scenes.used(scene).length === 2;
  const methods = chosen.filter((name) => two || !METHODS.find((one) => one.name === name).two);
  find("compare").hidden = false;
  const cards = find("cards");
  cards.replaceChildren();
  const status = find("compare-status");
  status.textContent = "Fitting …";
  const rows = [];
  try {
    const found = await asking("compare", { data: scenes.data(scene), methods, seed: scene.seed }, {
      row: (row) => {
        rows.push(row);
        cards.append(card(row, scene, view));
      },
    });
    if (!found) return;
  } catch (error) {
    status.textContent = error.message;
    return;
  }
  const fewest = rows.find((row) => row.method === "min-error");
  status.textContent = fewest?.errors === undefined
    ? "Training errors and times."
    : fewest.errors === 0 ? "A line can get all points right." : fewest.holds ? `No line makes fewer than ${plural(fewest.errors, "error")}.` : `The best line found makes ${plural(fewest.errors, "error")}.`;
  if (fewest?.errors !== undefined) {
    cards.querySelectorAll("[data-errors]").forEach((element) => {
      const above = Number(element.dataset.errors) - fewest.errors;
      element.textContent += above > 0 ? ` (${above} above the fewest)` : " (the fewest)";
    });
  }
}

function card(row, scene, view) {
  const label = METHODS.find((one) => one.name === row.method)?.label ?? row.method;
  const picture = h("canvas", { width: 440, height: 320, role: "img", "aria-label": `${label}: ${row.message ?? plural(row.errors, "error")}` });
  if (!row.message) draw(picture, row, scene, view);
  return h("li", { class: "card", "data-method": row.method }, picture, h("h3", {}, label),
    row.message
      ? h("p", { class: "quiet-words" }, row.message)
      : h("p", {}, h("span", { "data-errors": row.errors }, plural(row.errors, "error")), h("br"),
        h("span", { class: "quiet-words" }, `${row.holds ? "certified" : "not certified"}, ${short(row.seconds * 1000, 2)} ms`)));
}

function draw(canvas, row, scene, view) {
  const pen = canvas.getContext("2d");
  const ratio = 2;
  pen.scale(ratio, ratio);
  const [width, height] = [canvas.width / ratio, canvas.height / ratio];
  const unit = Math.max((view.x[1] - view.x[0]) / width, (view.y[1] - view.y[0]) / height);
  const around = ([a, b], length) => [(a + b - length) / 2, (a + b + length) / 2];
  const shown = { x: around(view.x, unit * width), y: around(view.y, unit * height) };
  const [across, up] = [scaleLinear(shown.x, [0, width]), scaleLinear(shown.y, [height, 0])];
  const codes = scenes.used(scene);
  const planes = row.planes;
  if (planes) {
    const polygons = planes.length > 1 ? geometry.regions(shown, planes)
      : [-1, 1].map((sign) => geometry.clip(geometry.corners(shown), { weights: planes[0].weights.map((w) => sign * w), intercept: sign * planes[0].intercept }));
    polygons.forEach((polygon, k) => {
      pen.beginPath();
      polygon.forEach(([x, y], i) => (i ? pen.lineTo(across(x), up(y)) : pen.moveTo(across(x), up(y))));
      pen.closePath();
      pen.fillStyle = tint(codes[k] ?? k, 0.16);
      pen.fill();
    });
  }
  const style = getComputedStyle(document.documentElement);
  drawPoints(pen, scene.points, (x, y) => [across(x), up(y)], { edge: style.getPropertyValue("--paper").trim(), ratio, size: scenes.size(scene) > 2000 ? 1.5 : 3 });
  const found = planes?.length === 1 && geometry.segment(shown, planes[0]);
  if (found) {
    pen.beginPath();
    pen.moveTo(across(found[0][0]), up(found[0][1]));
    pen.lineTo(across(found[1][0]), up(found[1][1]));
    pen.strokeStyle = style.getPropertyValue("--ink").trim();
    pen.lineWidth = 2;
    pen.stroke();
  }
}

/** Builds the checkboxes that choose the methods. */
export function buildChoice(again) {
  const usable = METHODS.filter((one) => !one.regression);
  find("compare-choice").replaceChildren(...usable.map((one) => h("label", {},
    h("input", { type: "checkbox", checked: chosen.includes(one.name), onchange: (event) => {
      chosen = event.target.checked ? [...chosen, one.name] : chosen.filter((name) => name !== one.name);
      chosen.sort((a, b) => METHODS.findIndex((m) => m.name === a) - METHODS.findIndex((m) => m.name === b));
      again();
    } }), ` ${one.label}`)));
}
