// The picture of one frame: the planes of the step, the layers of the final model, the claim and the number of errors.

import { claim } from "./claim.js";
import { showClaim } from "./claimbox.js";
import { find, short } from "./dom.js";
import { errors, share } from "./frames.js";
import * as geometry from "./geometry.js";
import * as scenes from "./scene.js";

/** Draws one step of a run. */
export function drawPicture(plane, { scene, run, step, codes, regression }) {
  const { fit: model, frames } = run;
  const frame = frames[Math.min(step, frames.length - 1)] ?? null;
  const last = Boolean(frame?.final);
  const planes = frame?.planes ?? null;
  const { x, y, c } = scene.points;
  const classOf = (code) => codes.indexOf(code);
  const decide = (own, px, py) => geometry.decide(own, px, py, model?.ties);
  const lines = planes && !regression && planes.every((one) => one.weights.length === 2);
  const listed = last && model?.regions ? new Set(model.wrong) : null;
  const decided = lines && !listed ? (i) => decide(planes, x[i], y[i]) !== classOf(c[i]) : null;
  plane.draw({
    points: scene.points,
    axes: scene.axes,
    codes,
    classOf,
    planes: lines || regression ? planes : null,
    before: frame?.before,
    row: frame?.row,
    mistake: frame?.mistake,
    regression,
    link: link(model, planes),
    regions: last ? model?.regions : null,
    band: last ? band(model) : null,
    support: last ? support(model) : null,
    verdict: run.verdict,
    wrong: listed ? (i) => listed.has(i) : decided,
  });
  find("frame-text").textContent = frame?.text ?? "";
  const wrong = listed ? listed.size : lines ? errors(planes, scene.points, classOf, decide) : null;
  find("errors").textContent = [judged(wrong, model, last, scenes.size(scene)), last ? `${short(model.seconds * 1000, 2)} ms` : ""].filter(Boolean).join(" · ");
  if (frame && model) showClaim(claim(model, frame, scene), last);
}

function judged(wrong, model, last, rows) {
  if (wrong !== null) return `wrong: ${share(wrong, rows)}`;
  if (model?.deviations && last) return `mean squared deviation ${short(model.deviations.mse)}, R² ${short(model.deviations.r2)}`;
  return "";
}

/** The link of the scores: also log-odds for Gaussian classes whose border is a line. */
function link(model, planes) {
  if (model?.link) return model.link;
  if (model?.method === "lda" || model?.method === "naive-bayes") return planes?.length === 1 ? "logit" : "softmax";
  return null;
}

/** The score at the edges of the margin, if the model has a margin. */
function band(model) {
  if (model?.method === "svm" || model?.method === "hard-margin") return 1;
  if (model?.method === "kozinec" && model.planes?.length === 1) {
    return Math.max(0, model.certificate.parts[0].lower) * geometry.norm(model.planes[0]);
  }
  return null;
}

/** The support vectors with their multipliers. */
function support(model) {
  if (model?.support) return model.support;
  const part = model?.certificate?.parts?.[0];
  if (model?.method === "hard-margin") return part.support.map(([row, alpha]) => ({ row, alpha }));
  if (model?.method === "kozinec") return [...part.positive, ...part.negative].map(([row, alpha]) => ({ row, alpha }));
  return null;
}
