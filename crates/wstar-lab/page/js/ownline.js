// A line of one's own: two handles, its errors and its margin, against the best there are.

import { latest } from "./ask.js";
import { find, h, plural, s, short } from "./dom.js";
import * as geometry from "./geometry.js";
import * as scenes from "./scene.js";

const KEYS = { ArrowLeft: [-6, 0], ArrowRight: [6, 0], ArrowUp: [0, -6], ArrowDown: [0, 6] };

export class OwnLine {
  /** `changed` is told of every new position: [b, w₁, w₂], or null. */
  constructor(plane, changed) {
    this.plane = plane;
    this.changed = changed;
    this.judging = latest();
    this.best = latest();
    this.widest = latest();
    this.ends = null;
    this.optimum = {};
  }

  /** Shows the line of the scene; the handles sit where it leaves the picture's middle. */
  show(scene) {
    const line = scene.line && { weights: scene.line.slice(1), intercept: scene.line[0] };
    const found = line && geometry.segment(this.plane.view, line);
    const layer = find("own");
    find("own-told").hidden = !line;
    find("own-button").setAttribute("aria-pressed", String(Boolean(line)));
    if (!found) {
      layer.replaceChildren();
      this.ends = null;
      return;
    }
    const along = (share) => found[0].map((value, i) => value + share * (found[1][i] - value));
    // While a handle is held it stays under the hand.
    if (!this.dragging) this.ends = [along(0.2), along(0.8)];
    this.like = line;
    const [[x1, y1], [x2, y2]] = found.map(([x, y]) => this.plane.place(x, y));
    if (this.dragging && layer.querySelector("line")) {
      const drawn = layer.querySelector("line");
      Object.entries({ x1, y1, x2, y2 }).forEach(([name, value]) => drawn.setAttribute(name, value));
      this.ends.forEach((end, i) => this.put(layer.querySelectorAll(".handle")[i], end));
      return;
    }
    layer.replaceChildren(s("line", { x1, y1, x2, y2, class: "own-line" }), ...this.ends.map((end, i) => this.handle(end, i)));
  }

  put(handle, end) {
    const [cx, cy] = this.plane.place(...end);
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
        const [x, y] = this.plane.place(...this.ends[i]);
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

  /** Puts a line through the middle, or takes it away. */
  toggle(scene, planes) {
    if (scene.line) return this.changed(null);
    const model = planes?.length === 1 && planes[0].weights.length === 2 && geometry.norm(planes[0]) > 0 ? planes[0] : null;
    const { x, y } = this.plane.view;
    const middle = [(x[0] + x[1]) / 2, (y[0] + y[1]) / 2];
    const start = model ?? { weights: [0, 1], intercept: -middle[1] };
    // A little off the model's own line, so that it can be seen.
    const turned = { weights: [start.weights[0] - 0.2 * start.weights[1], start.weights[1] + 0.2 * start.weights[0]], intercept: 0 };
    turned.intercept = -(turned.weights[0] * middle[0] + turned.weights[1] * middle[1]);
    return this.changed([turned.intercept, ...turned.weights]);
  }

  /** Asks how good it is. */
  async judge(scene) {
    if (!scene.line) return;
    const plane = { weights: scene.line.slice(1), intercept: scene.line[0] };
    const found = await this.judging("judge", { data: scenes.data(scene), plane }).catch((error) => ({ message: error.message }));
    if (!found) return;
    this.found = found;
    this.tell();
  }

  /** Asks for the best there is: the fewest errors, and the largest margin. */
  async seek(scene) {
    if (!scene.line) return;
    this.optimum = {};
    const ask = (asking, method) => asking("fit", { data: scenes.data(scene), settings: { method, no_intercept: false, seed: 0, max_seconds: 5 } }).catch(() => null);
    const [fewest, widest] = await Promise.all([ask(this.best, "min-error"), ask(this.widest, "hard-margin")]);
    if (fewest) this.optimum.errors = fewest.errors;
    if (widest) this.optimum.margin = Math.sqrt(0.5 / widest.certificate.parts[0].primal);
    this.tell();
  }

  tell() {
    const { found, optimum } = this;
    if (!found) return;
    if (found.message) {
      find("own-told").replaceChildren(found.message);
      return;
    }
    const margin = found.margin === null ? "" : found.margin > 0 ? `, margin ${short(found.margin, 3)}` : "";
    const best = optimum.errors === undefined ? "" : ` The fewest possible: ${plural(optimum.errors, "error")}`;
    const widest = optimum.margin === undefined ? "" : `, margin ${short(optimum.margin, 3)}`;
    find("own-told").replaceChildren(h("strong", {}, "Your line: "), `${plural(found.errors, "error")}${margin}.`, best ? `${best}${widest}.` : "");
  }
}
