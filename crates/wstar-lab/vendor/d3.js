// The d3 modules that the page uses.
export { extent } from "d3-array";
export { axisBottom, axisLeft } from "d3-axis";
export { contours } from "d3-contour";
export { polygonHull } from "d3-polygon";
export { quadtree } from "d3-quadtree";
export { scaleLinear, scaleLog } from "d3-scale";
export { select } from "d3-selection";
export { line } from "d3-shape";
