// Colours and shapes of classes (Okabe and Ito 2008), and points on a canvas.

const SHAPES = ["circle", "square", "triangle", "diamond", "cross", "star", "down", "bar"];

/** Each class has its own colour and its own shape. The colours are defined by the style sheet for each theme. */
let colours = [];

/** Reads the colours of the theme. */
export function readColours() {
  const style = getComputedStyle(document.documentElement);
  colours = SHAPES.map((_, code) => style.getPropertyValue(`--c${code}`).trim());
}

/** The colour of a class. */
export const colour = (code) => colours[code % colours.length];

export const SIGNS = ["●", "■", "▲", "◆", "✚", "★", "▼", "▬"];

const PATHS = {
  circle: (path, r) => path.arc(0, 0, r, 0, 2 * Math.PI),
  square: (path, r) => path.rect(-0.88 * r, -0.88 * r, 1.76 * r, 1.76 * r),
  triangle: (path, r) => polygon(path, [[0, -1.25 * r], [1.1 * r, 0.75 * r], [-1.1 * r, 0.75 * r]]),
  down: (path, r) => polygon(path, [[0, 1.25 * r], [1.1 * r, -0.75 * r], [-1.1 * r, -0.75 * r]]),
  diamond: (path, r) => polygon(path, [[0, -1.3 * r], [1.1 * r, 0], [0, 1.3 * r], [-1.1 * r, 0]]),
  bar: (path, r) => path.rect(-1.2 * r, -0.5 * r, 2.4 * r, r),
  cross: (path, r) => {
    const [a, b] = [1.15 * r, 0.42 * r];
    polygon(path, [[-b, -a], [b, -a], [b, -b], [a, -b], [a, b], [b, b], [b, a], [-b, a], [-b, b], [-a, b], [-a, -b], [-b, -b]]);
  },
  star: (path, r) => polygon(path, Array.from({ length: 10 }, (_, i) => {
    const [size, angle] = [i % 2 ? 0.55 * r : 1.35 * r, (Math.PI * i) / 5];
    return [size * Math.sin(angle), -size * Math.cos(angle)];
  })),
};

function polygon(path, points) {
  points.forEach(([x, y], i) => (i ? path.lineTo(x, y) : path.moveTo(x, y)));
  path.closePath();
}

/** Cached images of the marks, which make drawing of many points fast. */
const stamps = new Map();

function stamp(code, radius, edge, ratio, open) {
  const key = [colour(code), code, radius, edge, ratio, open].join();
  if (!stamps.has(key)) {
    const half = Math.ceil(2 * radius + 2);
    const canvas = new OffscreenCanvas(2 * half * ratio, 2 * half * ratio);
    const pen = canvas.getContext("2d");
    pen.scale(ratio, ratio);
    pen.translate(half, half);
    pen.beginPath();
    PATHS[SHAPES[code % SHAPES.length]](pen, radius);
    pen.fillStyle = open ? edge : colour(code);
    pen.strokeStyle = open ? colour(code) : edge;
    pen.lineWidth = open ? 2 : 1;
    pen.fill();
    pen.stroke();
    stamps.set(key, { canvas, half });
  }
  return stamps.get(key);
}

/** The radius of points: smaller for more points. */
export const radius = (points) => (points > 3000 ? 2.4 : points > 400 ? 4 : 5.5);

/** Maximum number of points with shapes. More points are drawn as dots, which is faster. */
const MOST_SHAPES = 20000;

/** Draws all points; those for which `wrong` is true are hollow. */
export function drawPoints(pen, points, toPixel, { edge, ratio, wrong = null, size = null }) {
  if (points.x.length > MOST_SHAPES) {
    drawDots(pen, points, toPixel);
    return;
  }
  const r = size ?? radius(points.x.length);
  for (let i = 0; i < points.x.length; i += 1) {
    const [px, py] = toPixel(points.x[i], points.y[i]);
    const { canvas, half } = stamp(points.c[i], r, edge, ratio, wrong ? wrong(i) : false);
    pen.drawImage(canvas, px - half, py - half, 2 * half, 2 * half);
  }
}

function drawDots(pen, points, toPixel) {
  for (const code of new Set(points.c)) {
    pen.fillStyle = tint(code, 0.6);
    for (let i = 0; i < points.x.length; i += 1) {
      if (points.c[i] !== code) continue;
      const [px, py] = toPixel(points.x[i], points.y[i]);
      pen.fillRect(px - 1.25, py - 1.25, 2.5, 2.5);
    }
  }
}

/** The colour of a class with the opacity `alpha`. */
export function tint(code, alpha) {
  const value = parseInt(colour(code).slice(1), 16);
  return `rgba(${value >> 16}, ${(value >> 8) & 255}, ${value & 255}, ${alpha})`;
}

/** The red, green and blue components of the colour of a class. */
export function channels(code) {
  const value = parseInt(colour(code).slice(1), 16);
  return [value >> 16, (value >> 8) & 255, value & 255];
}
