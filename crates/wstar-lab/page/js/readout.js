// The details of the point under the pointer: its class, its distance from the line, its score and the terms of it.

import { find, h, short } from "./dom.js";
import { scoreTerms } from "./frames.js";
import * as geometry from "./geometry.js";

/** Shows the details of a point; hides them if `row` is null. */
export function readout(row, px, py, { scene, frame, fit, codes, plane }) {
  const box = find("readout");
  if (row === null || row === undefined || scene.points.x[row] === undefined) {
    box.hidden = true;
    return;
  }
  const [x, y, code] = [scene.points.x[row], scene.points.y[row], scene.points.c[row]];
  const lines = [h("p", {}, h("strong", {}, `row ${row}: ${scene.classes[code] ?? ""}`), ` at (${short(x)}, ${short(y)})`)];
  const planes = frame?.planes;
  if (planes?.length === 1 && planes[0].weights.length === 2) lines.push(...oneScore(planes[0], x, y, code, { scene, fit, codes }));
  else if (planes?.length > 1) lines.push(...scores(planes, x, y, { scene, fit, codes }));
  else if (planes?.length === 1) lines.push(h("p", {}, `predicted ${short(planes[0].weights[0] * x + planes[0].intercept)}, residual ${short(y - planes[0].weights[0] * x - planes[0].intercept)}`));
  const vector = frame?.final ? fit?.support?.find((one) => one.row === row) : null;
  if (vector) lines.push(h("p", {}, `α ${short(vector.alpha)}, slack ${short(vector.slack)}: ${vector.case}`));
  box.replaceChildren(...lines);
  box.hidden = false;
  const left = px > plane.width / 2 ? px - box.offsetWidth - 16 : px + 16;
  const top = Math.min(py + 12, plane.height - box.offsetHeight - 4);
  box.style.left = `${Math.max(4, Math.min(left, plane.width - box.offsetWidth - 4))}px`;
  box.style.top = `${Math.max(4, top)}px`;
}

function oneScore(own, x, y, code, { scene, fit, codes }) {
  const logit = fit?.link === "logit" || fit?.method === "lda" || fit?.method === "naive-bayes";
  const norm = geometry.norm(own);
  const score = geometry.score(own, x, y);
  const sign = codes.indexOf(code) === 1 ? 1 : -1;
  const terms = scoreTerms(own, x, y, scene.axes);
  const table = h("dl", {}, ...terms.flatMap(([name, value], i) => [
    h("dt", { class: i === 3 ? "sum" : null }, i === 3 ? (logit ? "log-odds" : "score") : name),
    h("dd", { class: i === 3 ? "sum" : null }, short(value))]));
  const details = [table];
  if (logit) {
    const positive = 1 / (1 + Math.exp(-score));
    details.push(h("p", {}, `P(${scene.classes[codes[1]]}) = ${short(positive, 3)}, odds ${short(Math.exp(score), 3)}`));
  }
  if (norm > 0) details.push(h("p", {}, `distance ${short(Math.abs(score) / norm, 3)} from the line, ${sign * score > 0 ? "on the correct side" : "on the wrong side"}`));
  return details;
}

function scores(planes, x, y, { scene, fit, codes }) {
  const shares = geometry.probabilities(planes, fit?.link, x, y);
  return [h("dl", {}, ...planes.flatMap((plane, k) => [
    h("dt", {}, scene.classes[codes[k]] ?? `class ${k}`),
    h("dd", {}, `${short(geometry.score(plane, x, y))}${shares ? `  P ${short(shares[k], 3)}` : ""}`)]))];
}
