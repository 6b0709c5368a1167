"use strict";
// Costs and accuracies of the sizes of a method, and the axes for them.

const percent = (value) => value.toFixed(3);
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

/** Return cost and accuracy on held-out rows for each size of a course. */
function heldOutPoints(data, course, axis) {
  const costs = courseCosts(data, course, axis);
  return costs.map((cost, i) => [cost, course.held_out.right[i] / data.whole.n_rows]);
}

function costDomain(all) {
  const costs = all.flat().map(([cost]) => cost).filter((cost) => cost > 0);
  const low = Math.min(...costs);
  return [low, Math.max(...costs, low * 2)];
}

/** Leave out the low accuracies of the smallest sets, which would flatten all the rest. */
function accuracyDomain(all, from, also) {
  const values = all.flat().filter(([cost]) => cost >= from).map(([, accuracy]) => accuracy);
  return sharesAround([...values, ...also]);
}

function sharesAround(values) {
  const [low, high] = around(values);
  return [Math.max(0, low), Math.min(1, high)];
}

function costAxis(axis, domain) {
  return { domain, log: true, whole: axis === "members", label: COSTS[axis], format: plainNumber };
}
