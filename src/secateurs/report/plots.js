"use strict";
// Draw axes, lines and points as SVG. Text is inserted as text, never as HTML.

const drawings = {}; // element id → function(page) that returns the elements to insert there
const byId = (id) => document.getElementById(id);
const MARGIN = { left: 52, right: 14, top: 26, bottom: 42 };
const DASHES = ["", "7 3", "2 3", "9 3 2 3", "14 4", "5 2 1 2"];

function svg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

function html(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

/** Show a command that breaks only between words; browsers would also break after hyphens. */
function showCommand(element, text) {
  const words = text.split(" ").map((word) => html("span", {}, word));
  element.replaceChildren(...words.flatMap((word, i) => (i ? [" ", word] : [word])));
}

/** Draw axes; return the SVG element, the scales x and y, and a layer clipped to the axes. */
function frame({ width, height, x, y, label }) {
  const right = width - MARGIN.right;
  const bottom = height - MARGIN.bottom;
  const root = svg("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img",
    "aria-label": label });
  const xScale = scale(x, MARGIN.left, right);
  const yScale = scale(y, bottom, MARGIN.top);
  const levels = ticksOf(y, Math.max(3, Math.floor(height / 60)));
  const format = y.format ?? tickFormat(levels);
  for (const tick of levels) {
    const at = yScale(tick);
    root.append(svg("line", { class: "grid", x1: MARGIN.left, x2: right, y1: at, y2: at }));
    root.append(svg("text", { class: "tick end", x: MARGIN.left - 8, y: at + 4 }, format(tick)));
  }
  for (const tick of ticksOf(x, Math.max(3, Math.floor(width / 90)))) {
    const at = xScale(tick);
    root.append(svg("line", { class: "mark", x1: at, x2: at, y1: bottom, y2: bottom + 4 }));
    root.append(svg("text", { class: "tick middle", x: at, y: bottom + 18 }, x.format(tick)));
  }
  root.append(svg("line", { class: "mark", x1: MARGIN.left, x2: right, y1: bottom, y2: bottom }));
  const middle = (MARGIN.left + right) / 2;
  root.append(svg("text", { class: "axis middle", x: middle, y: height - 4 }, x.label));
  root.append(svg("text", { class: "axis", x: 0, y: 12 }, y.label));
  const clip = `clip-${frame.count = (frame.count || 0) + 1}`;
  const area = { x: MARGIN.left, y: MARGIN.top - 6, width: right - MARGIN.left,
    height: bottom - MARGIN.top + 6 };
  root.append(svg("clipPath", { id: clip }, svg("rect", area)));
  const layer = svg("g", { "clip-path": `url(#${clip})` });
  root.append(layer);
  return { root, layer, width, height, x: xScale, y: yScale, left: MARGIN.left, right,
    top: MARGIN.top, bottom };
}

/** Return a number format with enough decimals to distinguish the ticks. */
function tickFormat(ticks) {
  const step = ticks.length > 1 ? Math.abs(ticks[1] - ticks[0]) : 0.01;
  const places = Math.min(8, Math.max(0, Math.ceil(-Math.log10(step) - 1e-9)));
  return (value) => (value + 0).toLocaleString("en",
    { minimumFractionDigits: places, maximumFractionDigits: places });
}

function scale({ domain: [low, high], log }, start, end) {
  const position = log ? Math.log : (value) => value;
  const first = position(low);
  const span = position(high) - first || 1;
  return (value) => start + ((end - start) * (position(value) - first)) / span;
}

function ticksOf({ domain: [low, high], log, whole }, wanted) {
  if (log && high / low > 8) {
    const steps = high / low > 300 ? [1] : high / low > 60 ? [1, 3] : [1, 2, 5];
    const ticks = [];
    for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power++) {
      for (const step of steps) ticks.push(step * 10 ** power);
    }
    return ticks.filter((tick) => tick >= low * 0.999 && tick <= high * 1.001);
  }
  const rough = (high - low || 1) / wanted;
  const power = 10 ** Math.floor(Math.log10(rough));
  let step = [1, 2, 5, 10].find((factor) => factor * power >= rough) * power;
  if (whole) step = Math.max(1, Math.round(step));
  const ticks = [];
  for (let n = Math.ceil(low / step - 1e-9); n * step <= high + step * 1e-9; n++) ticks.push(n * step);
  return ticks;
}

function pathOf(plot, points) {
  return points.map(([x, y], i) =>
    `${i ? "L" : "M"}${plot.x(x).toFixed(1)} ${plot.y(y).toFixed(1)}`).join("");
}

function line(plot, points, style, dash = "") {
  const shape = svg("path", { class: `line ${style}`, d: pathOf(plot, points) });
  if (dash) shape.setAttribute("stroke-dasharray", dash);
  plot.layer.append(shape);
}

/** Draw many points as one path, which is fast: dots are the round ends of lines of length 0. */
function points(plot, positions, style) {
  const d = positions.map(([x, y]) => `M${plot.x(x).toFixed(1)} ${plot.y(y).toFixed(1)}h0`).join("");
  plot.layer.append(svg("path", { class: `points ${style}`, d }));
}

function band(plot, lower, upper, style) {
  const back = [...lower].reverse();
  const d = `${pathOf(plot, upper)}${pathOf(plot, back).replace("M", "L")}Z`;
  plot.layer.append(svg("path", { class: `band ${style}`, d }));
}

function level(plot, value, style, text) {
  const at = plot.y(value);
  plot.layer.append(svg("line", { class: style, x1: plot.left, x2: plot.right, y1: at, y2: at }));
  // In front of the lines that are drawn later.
  if (text) plot.root.append(svg("text", { class: "tick halo", x: plot.left + 4, y: at - 5 }, text));
}

function dot(plot, x, y, style, radius = 6) {
  plot.layer.append(svg("circle", { class: `dot ${style}`, cx: plot.x(x), cy: plot.y(y), r: radius }));
}

function upright(plot, x, style) {
  const at = plot.x(x);
  plot.layer.append(svg("line", { class: style, x1: at, x2: at, y1: plot.top, y2: plot.bottom }));
}

/** Return a range slightly wider than the values. */
function around(values, part = 0.06) {
  const low = Math.min(...values);
  const high = Math.max(...values);
  const spare = (high - low || Math.abs(high) * 0.02 || 0.02) * part;
  return [low - spare, high + spare];
}
