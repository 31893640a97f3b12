// The plane: its scales and axes, the shading and the points on a canvas, and the layers as SVG above it.

import { axisBottom, axisLeft, extent, quadtree, scaleLinear, select } from "../vendor/d3.js";
import { find, s } from "./dom.js";
import * as geometry from "./geometry.js";
import { drawLayers } from "./layers.js";
import { channels, drawPoints, readColours, tint } from "./marks.js";

const EDGE = { left: 46, right: 10, top: 10, bottom: 38 };
/** Maximum ratio of the extents at which both axes have the same unit; beyond it, each axis has its own scale. */
const MOST_RATIO = 6;

export class Plane {
  constructor() {
    this.box = find("plane");
    this.canvas = find("points");
    this.svg = find("drawing");
    this.view = { x: [-5, 5], y: [-4, 4] };
    this.equal = true;
    this.tree = null;
    this.shown = null;
    new ResizeObserver(() => this.resize()).observe(this.box);
    this.resize();
  }

  resize() {
    const { width, height } = this.box.getBoundingClientRect();
    if (width === 0) return;
    [this.width, this.height] = [width, height];
    this.ratio = window.devicePixelRatio || 1;
    this.canvas.width = Math.round(width * this.ratio);
    this.canvas.height = Math.round(height * this.ratio);
    this.svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    this.look(this.wanted ?? this.view);
    if (this.shown) this.draw(this.shown);
  }

  /** Shows at least this part of the plane, with equal units on both axes if their extents are similar. */
  look(view) {
    this.wanted = view;
    const [wide, high] = [this.width - EDGE.left - EDGE.right, this.height - EDGE.top - EDGE.bottom];
    const [dx, dy] = [view.x[1] - view.x[0], view.y[1] - view.y[0]];
    const ratio = (dx / wide) / (dy / high);
    this.equal = ratio < MOST_RATIO && ratio > 1 / MOST_RATIO;
    let { x, y } = view;
    if (this.equal) {
      const unit = Math.max(dx / wide, dy / high);
      const around = ([a, b], length) => [(a + b - length) / 2, (a + b + length) / 2];
      x = around(x, unit * wide);
      y = around(y, unit * high);
    }
    this.view = { x, y };
    this.across = scaleLinear(x, [EDGE.left, this.width - EDGE.right]);
    this.up = scaleLinear(y, [this.height - EDGE.bottom, EDGE.top]);
  }

  /** Shows all points, with a margin around them. */
  lookAt(points) {
    if (points.x.length === 0) return this.look({ x: [-5, 5], y: [-4, 4] });
    const padded = (values) => {
      const [least, most] = extent(values);
      const margin = (most - least || Math.max(1, Math.abs(most))) * 0.15;
      return [least - margin, most + margin];
    };
    return this.look({ x: padded(points.x), y: padded(points.y) });
  }

  /** Whether all points are in view. */
  holds(points) {
    const { x, y } = this.view;
    return points.x.every((value, i) => value >= x[0] && value <= x[1] && points.y[i] >= y[0] && points.y[i] <= y[1]);
  }

  /** The pixel of a point of the plane. */
  toPixel = (x, y) => [this.across(x), this.up(y)];

  /** The point of the plane at a pixel, rounded to the resolution of the screen. */
  at(px, py) {
    const unit = (this.view.x[1] - this.view.x[0]) / this.width;
    const digits = Math.max(0, Math.min(12, Math.ceil(-Math.log10(unit))));
    const short = (value) => Number(value.toFixed(digits));
    return [short(this.across.invert(px)), short(this.up.invert(py))];
  }

  /** The position of the pointer, in pixels of the plane. */
  pixel(event) {
    const box = this.box.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }

  /** The row of the point nearest to a pixel, if it is within a distance. */
  nearest(px, py, within = 14) {
    if (!this.shown) return null;
    const { points } = this.shown;
    this.tree ??= quadtree(points.x.map((_, i) => i), (i) => this.across(points.x[i]), (i) => this.up(points.y[i]));
    return this.tree.find(px, py, within) ?? null;
  }

  /** Draws the shading, the points, the axes and the layers. */
  draw(shown) {
    this.shown = shown;
    this.tree = null;
    readColours();
    const pen = this.canvas.getContext("2d");
    const style = getComputedStyle(document.documentElement);
    const paper = style.getPropertyValue("--paper").trim();
    pen.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    pen.clearRect(0, 0, this.width, this.height);
    pen.save();
    pen.beginPath();
    pen.rect(EDGE.left, EDGE.top, this.width - EDGE.left - EDGE.right, this.height - EDGE.top - EDGE.bottom);
    pen.clip();
    this.shade(pen, shown);
    drawPoints(pen, shown.points, this.toPixel, { edge: paper, ratio: this.ratio, wrong: shown.wrong });
    pen.restore();
    this.axes(shown.axes);
    drawLayers(this, shown);
  }

  /** Shades the regions of the classes, darker for larger probabilities. */
  shade(pen, { planes, link, regions, codes, regression }) {
    if (regression) return;
    if (regions) return this.grid(pen, regions, codes);
    if (!planes || planes.every((plane) => geometry.norm(plane) === 0 && plane.intercept === 0)) return;
    if (link === "logit" || link === "softmax") return this.shadeByProbability(pen, planes, link, codes);
    const polygons = planes.length > 1
      ? geometry.regions(this.view, planes)
      : [-1, 1].map((sign) => geometry.clip(geometry.corners(this.view), {
        weights: planes[0].weights.map((w) => sign * w), intercept: sign * planes[0].intercept,
      }));
    polygons.forEach((polygon, k) => {
      pen.beginPath();
      polygon.forEach(([x, y], i) => (i ? pen.lineTo(...this.toPixel(x, y)) : pen.moveTo(...this.toPixel(x, y))));
      pen.fillStyle = tint(codes[k] ?? k, 0.12);
      pen.fill();
    });
  }

  shadeByProbability(pen, planes, link, codes) {
    const cell = 6;
    const [columns, rows] = [Math.ceil(this.width / cell), Math.ceil(this.height / cell)];
    const chosen = new Uint8Array(columns * rows);
    const sure = new Float32Array(columns * rows);
    for (let row = 0; row < rows; row += 1) {
      const y = this.up.invert((row + 0.5) * cell);
      for (let column = 0; column < columns; column += 1) {
        const found = geometry.probabilities(planes, link, this.across.invert((column + 0.5) * cell), y);
        const best = found[1] > found[0] && found.length === 2 ? 1 : found.indexOf(Math.max(...found));
        chosen[row * columns + column] = best;
        sure[row * columns + column] = found[best];
      }
    }
    const least = 1 / Math.max(2, planes.length);
    this.paintGrid(pen, columns, rows, (i) => [codes[chosen[i]] ?? 0, 0.02 + 0.26 * ((sure[i] - least) / (1 - least))],
      [0, 0, columns * cell, rows * cell]);
  }

  /** Shades the decisions of the engine on a grid, whose rows are ordered from bottom to top. */
  grid(pen, { x, y, columns, rows, class: chosen, sure }, codes) {
    const [left, top] = this.toPixel(x[0], y[1]);
    const [right, bottom] = this.toPixel(x[1], y[0]);
    const flipped = (i) => (rows - 1 - Math.floor(i / columns)) * columns + (i % columns);
    this.paintGrid(pen, columns, rows, (i) => {
      const at = flipped(i);
      return [codes[chosen[at]] ?? 0, sure ? 0.02 + 0.26 * Math.max(0, sure[at] / 50 - 1) : 0.12];
    }, [left, top, right - left, bottom - top], !sure);
  }

  paintGrid(pen, columns, rows, colourAt, [left, top, width, height], crisp = false) {
    const small = new OffscreenCanvas(columns, rows);
    const brush = small.getContext("2d");
    const image = brush.createImageData(columns, rows);
    for (let i = 0; i < columns * rows; i += 1) {
      const [code, alpha] = colourAt(i);
      image.data.set([...channels(code), 255 * alpha], 4 * i);
    }
    brush.putImageData(image, 0, 0);
    pen.imageSmoothingEnabled = !crisp;
    pen.drawImage(small, left, top, width, height);
    pen.imageSmoothingEnabled = true;
  }

  axes([first, second]) {
    const ticks = (length) => Math.max(2, Math.min(10, Math.floor(length / 70)));
    const bottom = find("axis-x");
    const left = find("axis-y");
    bottom.setAttribute("transform", `translate(0 ${this.height - EDGE.bottom})`);
    left.setAttribute("transform", `translate(${EDGE.left} 0)`);
    select(bottom).call(axisBottom(this.across).ticks(ticks(this.width)).tickSizeOuter(0));
    select(left).call(axisLeft(this.up).ticks(ticks(this.height)).tickSizeOuter(0));
    find("axis-names").replaceChildren(
      s("text", { x: this.width - EDGE.right, y: this.height - 6, "text-anchor": "end" }, first),
      s("text", { x: 12, y: EDGE.top, transform: `rotate(-90 12 ${EDGE.top})`, "text-anchor": "end" }, second),
      ...(this.equal ? [] : [s("text", { x: EDGE.left, y: this.height - 6 }, "axes with different scales: right angles are distorted")]),
    );
  }

  /** The edges of the drawing area. */
  get edges() {
    return { left: EDGE.left, top: EDGE.top, right: this.width - EDGE.right, bottom: this.height - EDGE.bottom };
  }
}
