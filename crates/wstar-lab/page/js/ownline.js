// A line that the user draws with two handles: its errors and its margin, compared with the optimal ones.

import { latest } from "./ask.js";
import { find, h, plural, s, short } from "./dom.js";
import * as geometry from "./geometry.js";
import * as scenes from "./scene.js";

const KEYS = { ArrowLeft: [-6, 0], ArrowRight: [6, 0], ArrowUp: [0, -6], ArrowDown: [0, 6] };

export class OwnLine {
  /** `changed` receives every new position: [b, w₁, w₂], or null. */
  constructor(plane, changed) {
    this.plane = plane;
    this.changed = changed;
    this.judging = latest();
    this.best = latest();
    this.widest = latest();
    this.ends = null;
    this.optimum = {};
  }

  /** Shows the line of the scene, with handles at 20 % and 80 % of its visible segment. */
  show(scene) {
    const line = scene.line && { weights: scene.line.slice(1), intercept: scene.line[0] };
    const found = line && geometry.segment(this.plane.view, line);
    const layer = find("own");
    find("own-result").hidden = !line;
    find("own-button").setAttribute("aria-pressed", String(Boolean(line)));
    if (!found) {
      layer.replaceChildren();
      this.ends = null;
      return;
    }
    const along = (share) => found[0].map((value, i) => value + share * (found[1][i] - value));
    // A handle that is being dragged stays under the pointer.
    if (!this.dragging) this.ends = [along(0.2), along(0.8)];
    this.like = line;
    const [[x1, y1], [x2, y2]] = found.map(([x, y]) => this.plane.toPixel(x, y));
    if (this.dragging && layer.querySelector("line")) {
      const drawn = layer.querySelector("line");
      Object.entries({ x1, y1, x2, y2 }).forEach(([name, value]) => drawn.setAttribute(name, value));
      this.ends.forEach((end, i) => this.put(layer.querySelectorAll(".handle")[i], end));
      return;
    }
    layer.replaceChildren(s("line", { x1, y1, x2, y2, class: "own-line" }), ...this.ends.map((end, i) => this.handle(end, i)));
  }

  put(handle, end) {
    const [cx, cy] = this.plane.toPixel(...end);
    handle.setAttribute("cx", cx);
    handle.setAttribute("cy", cy);
  }

  handle(end, i) {
    const handle = s("circle", {
      r: 9, class: "handle", tabindex: 0, role: "button", "aria-label": `end ${i + 1} of your line: arrow keys move it`,
      onpointerdown: (event) => {
        event.stopPropagation();
        handle.setPointerCapture(event.pointerId);
        this.dragging = true;
      },
      onpointermove: (event) => {
        if (!this.dragging || !handle.hasPointerCapture(event.pointerId)) return;
        event.stopPropagation();
        const [px, py] = this.plane.pixel(event);
        this.drag(i, [this.plane.across.invert(px), this.plane.up.invert(py)]);
      },
      onpointerup: (event) => {
        event.stopPropagation();
        this.dragging = false;
      },
      onkeydown: (event) => {
        if (!(event.key in KEYS)) return;
        event.preventDefault();
        event.stopPropagation();
        const [x, y] = this.plane.toPixel(...this.ends[i]);
        this.dragging = true;
        this.drag(i, [this.plane.across.invert(x + KEYS[event.key][0]), this.plane.up.invert(y + KEYS[event.key][1])]);
        this.dragging = false;
      },
    });
    this.put(handle, end);
    return handle;
  }

  drag(i, to) {
    this.ends[i] = to;
    const plane = geometry.through(this.ends[0], this.ends[1], this.like);
    this.changed([plane.intercept, ...plane.weights]);
  }

  /** Adds a line through the middle of the view, or removes the line. */
  toggle(scene, planes) {
    if (scene.line) return this.changed(null);
    const model = planes?.length === 1 && planes[0].weights.length === 2 && geometry.norm(planes[0]) > 0 ? planes[0] : null;
    const { x, y } = this.plane.view;
    const middle = [(x[0] + x[1]) / 2, (y[0] + y[1]) / 2];
    const start = model ?? { weights: [0, 1], intercept: -middle[1] };
    // Rotated against the line of the model, so that it is visible.
    const turned = { weights: [start.weights[0] - 0.2 * start.weights[1], start.weights[1] + 0.2 * start.weights[0]], intercept: 0 };
    turned.intercept = -(turned.weights[0] * middle[0] + turned.weights[1] * middle[1]);
    return this.changed([turned.intercept, ...turned.weights]);
  }

  /** Requests the errors and the margin of the line. */
  async judge(scene) {
    if (!scene.line) return;
    const plane = { weights: scene.line.slice(1), intercept: scene.line[0] };
    const found = await this.judging("judge", { data: scenes.data(scene), plane }).catch((error) => ({ message: error.message }));
    if (!found) return;
    this.found = found;
    this.report();
  }

  /** Requests the minimum number of errors and the largest margin. */
  async seek(scene) {
    if (!scene.line) return;
    this.optimum = {};
    const ask = (asking, method) => asking("fit", { data: scenes.data(scene), settings: { method, no_intercept: false, seed: 0, max_seconds: 5 } }).catch(() => null);
    const [fewest, widest] = await Promise.all([ask(this.best, "min-error"), ask(this.widest, "hard-margin")]);
    if (fewest) this.optimum.errors = fewest.errors;
    if (widest) this.optimum.margin = Math.sqrt(0.5 / widest.certificate.parts[0].primal);
    this.report();
  }

  report() {
    const { found, optimum } = this;
    if (!found) return;
    if (found.message) {
      find("own-result").replaceChildren(found.message);
      return;
    }
    const margin = found.margin === null ? "" : found.margin > 0 ? `, margin ${short(found.margin, 3)}` : "";
    const best = optimum.errors === undefined ? "" : ` The fewest possible: ${plural(optimum.errors, "error")}`;
    const widest = optimum.margin === undefined ? "" : `, margin ${short(optimum.margin, 3)}`;
    find("own-result").replaceChildren(h("strong", {}, "Your line: "), `${plural(found.errors, "error")}${margin}.`, best ? `${best}${widest}.` : "");
  }
}
