"use strict";
// Costs and scores of a method by size, and the axes of their plots.

const plainNumber = (value) => (value + 0).toLocaleString("en", { maximumSignificantDigits: 3 });
const COSTS = { members: "number of members", bytes: "megabytes", ms: "milliseconds per row" };

/** Return the cost of the first 1, 2, … members of an order. */
function costsBySize(data, order, axis) {
  const { bytes, ms } = data.costs;
  let total = axis === "bytes" ? bytes.base : 0;
  return order.map((member, index) => {
    if (axis === "members") return index + 1;
    if (axis === "ms") return between(ms, index + 1);
    total += bytes.each[member];
    return total / 1e6;
  });
}

/** Interpolate linearly between points [x, y]. */
function between(points, x) {
  const next = Math.max(1, points.findIndex(([end]) => end >= x));
  const [[x0, y0], [x1, y1]] = [points[next - 1], points[next]];
  return y0 + ((y1 - y0) * (x - x0)) / (x1 - x0);
}

/** Return the cost of each size of a course: the selections of a method by size. */
function courseCosts(data, course, axis) {
  if (course.order) {
    const costs = costsBySize(data, course.order, axis);
    return course.sizes.map((size) => costs[size - 1]);
  }
  return course.sets.map((members) => costsBySize(data, members, axis).at(-1));
}

/** Return cost and score on held-out samples for each size of a method. */
function scorePoints(data, index, axis) {
  const { sizes, values } = data.score_size.curves[index];
  const costs = axis === "members" ? sizes : courseCosts(data, data.courses[index], axis);
  return costs.map((cost, i) => [cost, values[i]]);
}

/** Return a score with enough digits to distinguish close scores. */
const scoreText = (value) => (Math.abs(value) < 10 ? value.toFixed(4)
  : value.toLocaleString("en", { maximumSignificantDigits: 6 }));

/** Return a function that formats a cost: "30 members", "1.04 megabytes". */
const costTitle = (axis) => (cost) => (axis !== "members" ? `${plainNumber(cost)} ${COSTS[axis]}`
  : counted(Math.round(cost), "member"));

const counted = (number, noun) => `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;

/** Return an axis of costs that contains all points. */
function costAxis(axis, all) {
  const costs = all.flat().map(([cost]) => cost).filter((cost) => cost > 0);
  const low = Math.min(...costs);
  return { domain: [low, Math.max(...costs, low * 1.5)], log: true, whole: axis === "members",
    label: COSTS[axis], format: plainNumber };
}

/** Return an axis of scores that contains all values. */
function scoreAxis({ score }, values) {
  return { domain: isShare(score) ? sharesAround(values) : around(values), label: score.label };
}

const isShare = ({ name }) => name.includes("accuracy");

/** Return the ends of an interval around a score; those of an accuracy lie between 0 and 1. */
function endsOf({ score }, value, half) {
  const ends = [value - half, value + half];
  return isShare(score) ? ends.map((end) => Math.min(1, Math.max(0, end))) : ends;
}

function sharesAround(values) {
  const [low, high] = around(values);
  return [Math.max(0, low), Math.min(1, high)];
}

/** Return the points with at least a cost; 1e-9 allows for rounding. */
const fromOn = (points, least) => points.filter(([cost]) => cost >= least * (1 - 1e-9));
