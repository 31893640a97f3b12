// Tools that add, spray, drag and erase points, by pointer and by keyboard.

import { find, h, s } from "./dom.js";
import { colour, SIGNS } from "./marks.js";

/** Number of points of one spray, and its radius in pixels. */
const SPRAY = { points: 4, reach: 26 };
const KEYS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

export class Tools {
  /** `edit` adds, moves and erases points; `hover` receives the point under the pointer; `viewChanged` is called after a zoom. */
  constructor(plane, { begin, edit, end, hover, viewChanged }) {
    this.plane = plane;
    this.tool = "add";
    this.code = 0;
    this.held = null;
    this.cursor = null;
    Object.assign(this, { begin, edit, end, hover, viewChanged });
    const box = find("plane");
    box.addEventListener("pointerdown", (event) => this.down(event));
    box.addEventListener("pointermove", (event) => this.moved(event));
    box.addEventListener("pointerup", () => this.up());
    box.addEventListener("pointercancel", () => this.up());
    box.addEventListener("pointerleave", () => this.hover(null));
    box.addEventListener("keydown", (event) => this.key(event));
    box.addEventListener("blur", () => this.point(null));
    box.addEventListener("wheel", (event) => this.zoom(event), { passive: false });
    for (const button of document.querySelectorAll("button[data-tool]")) {
      button.addEventListener("click", () => this.choose(button.dataset.tool));
    }
  }

  /** One button for each class that can be drawn. */
  showClasses(names, more) {
    const choices = names.map((name, code) => h("button", {
      type: "button", class: "class", "aria-pressed": String(code === this.code), "data-class": code,
      style: null, title: `draw points of class ${name} (key ${code + 1})`, onclick: () => this.pick(code),
    }, h("span", { class: `sign c${code}`, "aria-hidden": "true" }, SIGNS[code % SIGNS.length]), ` ${name}`));
    if (names.length < 5) choices.push(h("button", { type: "button", class: "class", "data-class": "more", "aria-label": "add a class", onclick: more }, "+"));
    find("classes").replaceChildren(...choices);
    if (this.code >= names.length) this.pick(0);
  }

  pick(code) {
    this.code = code;
    for (const button of find("classes").querySelectorAll("[data-class]")) button.setAttribute("aria-pressed", String(button.dataset.class === String(code)));
    if (this.tool === "erase" || this.tool === "drag") this.choose("add");
  }

  choose(tool) {
    this.tool = tool;
    find("plane").dataset.tool = tool;
    for (const button of document.querySelectorAll("button[data-tool]")) button.setAttribute("aria-pressed", String(button.dataset.tool === tool));
  }

  down(event) {
    if (event.button !== 0 || event.target.closest(".handle")) return;
    find("plane").setPointerCapture(event.pointerId);
    const [px, py] = this.plane.pixel(event);
    const near = this.plane.nearest(px, py);
    this.begin();
    // A click on a point drags this point instead of adding another one.
    if (this.tool === "drag" || (this.tool === "add" && near !== null)) this.held = { kind: "drag", row: near, still: true };
    else this.held = { kind: this.tool, last: [px, py] };
    if (this.held.kind !== "drag") this.apply(px, py);
  }

  moved(event) {
    const [px, py] = this.plane.pixel(event);
    if (!this.held) {
      this.hover(this.plane.nearest(px, py), px, py);
      return;
    }
    if (this.held.kind === "drag") {
      if (this.held.row === null) return;
      this.held.still = false;
      this.edit.move(this.held.row, ...this.plane.at(px, py));
      return;
    }
    if (this.held.kind === "add") return;
    if (Math.hypot(px - this.held.last[0], py - this.held.last[1]) < 12) return;
    this.held.last = [px, py];
    this.apply(px, py);
  }

  up() {
    if (!this.held) return;
    const changed = this.held.kind !== "drag" || !this.held.still;
    this.held = null;
    this.end(changed);
  }

  apply(px, py) {
    if (this.held.kind === "add") this.edit.add(...this.plane.at(px, py), this.code);
    if (this.held.kind === "erase") {
      const near = this.plane.nearest(px, py, 16);
      if (near !== null) this.edit.erase(near);
    }
    if (this.held.kind === "spray") {
      for (let i = 0; i < SPRAY.points; i += 1) {
        const [angle, away] = [2 * Math.PI * Math.random(), SPRAY.reach * Math.sqrt(Math.random())];
        this.edit.add(...this.plane.at(px + away * Math.cos(angle), py + away * Math.sin(angle)), this.code);
      }
    }
  }

  /** The keyboard: arrows move a cross, Enter adds a point, Delete erases one, M picks one up and drops it. */
  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const { edges } = this.plane;
    if (event.key in KEYS) {
      event.preventDefault();
      const far = event.shiftKey ? 40 : 8;
      const [x, y] = this.cursor ?? [(edges.left + edges.right) / 2, (edges.top + edges.bottom) / 2];
      const [dx, dy] = KEYS[event.key];
      const next = [Math.max(edges.left, Math.min(edges.right, x + far * dx)), Math.max(edges.top, Math.min(edges.bottom, y + far * dy))];
      if (this.carried !== undefined && this.carried !== null) {
        this.edit.move(this.carried, ...this.plane.at(...next));
        this.end(true);
      }
      this.point(next);
      return;
    }
    if (/^[1-5]$/.test(event.key)) {
      find("classes").querySelector(`[data-class="${Number(event.key) - 1}"]`)?.click();
      return;
    }
    if (!this.cursor) return;
    const near = this.plane.nearest(...this.cursor, 16);
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      this.begin();
      this.edit.add(...this.plane.at(...this.cursor), this.code);
      this.end(true);
    } else if ((event.key === "Delete" || event.key === "Backspace") && near !== null) {
      this.begin();
      this.edit.erase(near);
      this.end(true);
    } else if (event.key.toLowerCase() === "m") {
      if (this.carried === undefined || this.carried === null) this.begin();
      this.carried = this.carried === undefined || this.carried === null ? near : null;
    } else if (event.key === "Escape") {
      this.carried = null;
      this.point(null);
    }
  }

  /** Moves the cross of the keyboard; null removes it. */
  point(at) {
    this.cursor = at;
    if (!at) this.carried = null;
    const [x, y] = at ?? [0, 0];
    find("cursor").replaceChildren(...(at ? [s("path", { d: `M${x - 10},${y}H${x + 10}M${x},${y - 10}V${y + 10}`, class: "cross" }), s("circle", { cx: x, cy: y, r: 5, fill: colour(this.code), class: "cross-class" })] : []));
    this.hover(at ? this.plane.nearest(x, y) : null, x, y);
  }

  zoom(event) {
    if (!event.ctrlKey && !event.shiftKey) return;
    event.preventDefault();
    const [px, py] = this.plane.pixel(event);
    const factor = Math.exp(0.0015 * (event.deltaY || event.deltaX));
    const [x, y] = [this.plane.across.invert(px), this.plane.up.invert(py)];
    const scaled = ([a, b], middle) => [middle + (a - middle) * factor, middle + (b - middle) * factor];
    this.plane.look({ x: scaled(this.plane.view.x, x), y: scaled(this.plane.view.y, y) });
    if (this.plane.shown) this.plane.draw(this.plane.shown);
    this.viewChanged();
  }
}
