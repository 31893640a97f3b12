// Geometry of lines and regions within a rectangle, for drawing.

/** The score of a point by a hyperplane {weights, intercept}. */
export const score = (plane, x, y) => plane.weights[0] * x + (plane.weights[1] ?? 0) * y + plane.intercept;

/** ‖w‖. */
export const norm = (plane) => Math.hypot(...plane.weights);

/** The corners of a view. */
export const corners = ({ x: [a, b], y: [c, d] }) => [[a, c], [b, c], [b, d], [a, d]];

/** The part of a polygon where a hyperplane's score is at least `level`. */
export function clip(polygon, plane, level = 0) {
  const kept = [];
  polygon.forEach((from, i) => {
    const to = polygon[(i + 1) % polygon.length];
    const [here, there] = [from, to].map(([x, y]) => score(plane, x, y) - level);
    if (here >= 0) kept.push(from);
    if (here >= 0 !== there >= 0) {
      const share = here / (here - there);
      kept.push([from[0] + share * (to[0] - from[0]), from[1] + share * (to[1] - from[1])]);
    }
  });
  return kept;
}

/** The segment inside a view on which a hyperplane's score is `level`; null if it does not intersect the view. */
export function segment(view, plane, level = 0) {
  if (norm(plane) === 0) return null;
  const [a, b] = plane.weights;
  // The point of the line nearest to the centre of the view, and a direction along the line.
  const middle = [(view.x[0] + view.x[1]) / 2, (view.y[0] + view.y[1]) / 2];
  const off = (score(plane, ...middle) - level) / (a * a + b * b);
  const foot = [middle[0] - off * a, middle[1] - off * b];
  const reach = Math.hypot(view.x[1] - view.x[0], view.y[1] - view.y[0]);
  const distance = Math.hypot(foot[0] - middle[0], foot[1] - middle[1]);
  if (distance > reach) return null;
  const length = Math.hypot(a, b);
  const along = [(-b / length) * 2 * reach, (a / length) * 2 * reach];
  return cut(view, [foot[0] - along[0], foot[1] - along[1]], [foot[0] + along[0], foot[1] + along[1]]);
}

/** The part of a segment inside a view (Liang and Barsky 1984). */
function cut(view, from, to) {
  let [start, end] = [0, 1];
  const step = [to[0] - from[0], to[1] - from[1]];
  for (const [axis, bounds] of [[0, view.x], [1, view.y]]) {
    for (const [away, bound] of [[-1, bounds[0]], [1, bounds[1]]]) {
      const speed = away * step[axis];
      const distance = away * (bound - from[axis]);
      if (speed === 0 && distance < 0) return null;
      if (speed < 0) start = Math.max(start, distance / speed);
      if (speed > 0) end = Math.min(end, distance / speed);
    }
  }
  if (start >= end) return null;
  return [start, end].map((share) => [from[0] + share * step[0], from[1] + share * step[1]]);
}

/** The regions in which each of several scores is the largest: one polygon for each class. */
export function regions(view, planes) {
  return planes.map((own, k) => {
    let polygon = corners(view);
    planes.forEach((other, j) => {
      if (j === k || polygon.length === 0) return;
      const difference = {
        weights: own.weights.map((w, i) => w - other.weights[i]),
        intercept: own.intercept - other.intercept,
      };
      polygon = clip(polygon, difference);
    });
    return polygon;
  });
}

/** The point nearest to (x, y) at which the score of a hyperplane is `level`. */
export function foot(plane, x, y, level = 0) {
  const off = (score(plane, x, y) - level) / (norm(plane) ** 2);
  return [x - off * plane.weights[0], y - off * plane.weights[1]];
}

/** The hyperplane through two points, with the orientation of `like` if it is given. */
export function through([x1, y1], [x2, y2], like = null) {
  const length = Math.hypot(x2 - x1, y2 - y1) || 1;
  let weights = [-(y2 - y1) / length, (x2 - x1) / length];
  let intercept = -(weights[0] * x1 + weights[1] * y1);
  if (like && weights[0] * like.weights[0] + weights[1] * like.weights[1] < 0) {
    weights = weights.map((w) => -w);
    intercept = -intercept;
  }
  return { weights, intercept };
}

/** The predicted class: by the sign of one score, or by the largest of several scores. */
export function decide(planes, x, y, ties = "mistake") {
  if (planes.length === 1) {
    const found = score(planes[0], x, y);
    return ties === "positive" ? Number(found >= 0) : Number(found > 0);
  }
  let best = 0;
  for (let k = 1; k < planes.length; k += 1) if (score(planes[k], x, y) > score(planes[best], x, y)) best = k;
  return best;
}

/** Probabilities of all classes if scores are log-odds, otherwise null. */
export function probabilities(planes, link, x, y) {
  if (link !== "logit" && link !== "softmax") return null;
  const scores = planes.length === 1 ? [0, score(planes[0], x, y)] : planes.map((plane) => score(plane, x, y));
  if (link === "logit" && planes.length > 1) {
    const shares = scores.map((z) => 1 / (1 + Math.exp(-z)));
    const total = shares.reduce((sum, share) => sum + share, 0);
    return shares.map((share) => share / total);
  }
  const most = Math.max(...scores);
  const powers = scores.map((z) => Math.exp(z - most));
  const total = powers.reduce((sum, power) => sum + power, 0);
  return powers.map((power) => power / total);
}
