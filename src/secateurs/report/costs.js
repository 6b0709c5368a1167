"use strict";
// Costs and scores of the sizes of a method, and the axes for them.

const plainNumber = (value) => (value + 0).toLocaleString("en", { maximumSignificantDigits: 3 });
const COSTS = { members: "members kept", bytes: "megabytes", ms: "milliseconds per row" };

/** Return what the first 1, 2, … members of an order cost. */
function costsBySize(data, order, axis) {
  const { bytes, ms } = data.costs;
  let total = axis === "bytes" ? bytes.base : 0;
  return order.map((member, place) => {
    if (axis === "members") return place + 1;
    if (axis === "ms") return between(ms, place + 1);
    total += bytes.each[member];
    return total / 1e6;
  });
}

/** Interpolate between points [x, y]. */
function between(points, x) {
  const next = Math.max(1, points.findIndex(([end]) => end >= x));
  const [[x0, y0], [x1, y1]] = [points[next - 1], points[next]];
  return y0 + ((y1 - y0) * (x - x0)) / (x1 - x0);
}

/** Return the cost of each size of a course. */
function courseCosts(data, course, axis) {
  if (course.order) {
    const costs = costsBySize(data, course.order, axis);
    return course.sizes.map((size) => costs[size - 1]);
  }
  return course.sets.map((members) => costsBySize(data, members, axis).at(-1));
}

/** Return cost and score on held-out rows for each size of a method. */
function scorePoints(data, place, axis) {
  const { sizes, values } = data.score_size.curves[place];
  const costs = axis === "members" ? sizes : courseCosts(data, data.courses[place], axis);
  return costs.map((cost, i) => [cost, values[i]]);
}

/** Return a score with enough digits to tell two apart. */
const scoreText = (value) => (Math.abs(value) < 10 ? value.toFixed(4)
  : value.toLocaleString("en", { maximumSignificantDigits: 6 }));

/** Return a text for a cost: "30 members", "1.04 megabytes". */
const costTitle = (axis) => (cost) => (axis !== "members" ? `${plainNumber(cost)} ${COSTS[axis]}`
  : counted(Math.round(cost), "member"));

const counted = (number, noun) => `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;

/** Return the axis of costs that holds all points. */
function costAxis(axis, all) {
  const costs = all.flat().map(([cost]) => cost).filter((cost) => cost > 0);
  const low = Math.min(...costs);
  return { domain: [low, Math.max(...costs, low * 1.5)], log: true, whole: axis === "members",
    label: COSTS[axis], format: plainNumber };
}

/** Return the axis of scores that holds all values. */
function scoreAxis({ score }, values) {
  return { domain: isShare(score) ? sharesAround(values) : around(values), label: score.label };
}

const isShare = ({ name }) => name.includes("accuracy");

/** Return the ends of an interval around a score, within what it can be. */
function endsOf({ score }, value, half) {
  const ends = [value - half, value + half];
  return isShare(score) ? ends.map((end) => Math.min(1, Math.max(0, end))) : ends;
}

function sharesAround(values) {
  const [low, high] = around(values);
  return [Math.max(0, low), Math.min(1, high)];
}

/** Return the points from a cost on. */
const fromOn = (points, least) => points.filter(([cost]) => cost >= least * (1 - 1e-9));
