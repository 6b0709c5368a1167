"use strict";
// The figures that do not change, but for the axis of cost and the methods shown.

const percent = (value) => value.toFixed(3);
const plainNumber = (value) => value.toLocaleString("en", { maximumSignificantDigits: 3 });
const COSTS = { members: "members kept", bytes: "megabytes", ms: "milliseconds a row" };

/** Give what the first 1, 2, … members of an order cost. */
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

/** Read a line given by points [x, y]. */
function between(points, x) {
  const next = Math.max(1, points.findIndex(([end]) => end >= x));
  const [[x0, y0], [x1, y1]] = [points[next - 1], points[next]];
  return y0 + ((y1 - y0) * (x - x0)) / (x1 - x0);
}

/** Give the cost of each size of a course. */
function courseCosts(data, course, axis) {
  if (course.order) {
    const costs = costsBySize(data, course.order, axis);
    return course.sizes.map((size) => costs[size - 1]);
  }
  return course.sets.map((members) => costsBySize(data, members, axis).at(-1));
}

/** Give cost and accuracy on rows held out for each size of a course. */
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

function styleOf(place, chosen) {
  if (place === chosen) return ["c0 strong", ""];
  const other = place > chosen ? place - 1 : place;
  return [`c${1 + (other % 6)}`, DASHES[(1 + other + Math.floor(other / 6)) % DASHES.length]];
}

function drawCurve(data, width, axis, hidden) {
  const { courses, chosen, whole } = data;
  const all = courses.map((course) => heldOutPoints(data, course, axis));
  const main = courses[chosen.course];
  const costs = courseCosts(data, main, axis);
  const at = main.sizes.indexOf(chosen.keep);
  const nChoosing = data.rows.choosing;
  const choosing = costs.map((cost, i) => [cost, main.choosing[i] / nChoosing]);
  const ofAll = whole.held_out / whole.n_rows;
  const plot = frame({ width, height: Math.min(420, 200 + width * 0.3),
    x: costAxis(axis, costDomain([...all, choosing])),
    y: { domain: accuracyDomain([...all, choosing], costs[at] / 3, [ofAll]), label: "accuracy", format: percent },
    label: "Accuracy on rows held out against size, one line a method" });
  level(plot, ofAll, "level", "all members");
  const { lost, won } = main.held_out;
  const half = main.sizes.map((_, i) => halfWidth(lost[i], won[i], whole.n_rows));
  const shown = (place) => !hidden.has(place);
  if (shown(chosen.course)) {
    const middle = all[chosen.course];
    band(plot, middle.map(([x, y], i) => [x, y - half[i]]),
      middle.map(([x, y], i) => [x, y + half[i]]), "c0");
    line(plot, choosing, "c0", "6 4");
  }
  const last = courses.map((_, place) => place).sort((a) => (a === chosen.course ? 1 : -1));
  for (const place of last.filter(shown)) {
    const [style, dash] = styleOf(place, chosen.course);
    if (all[place].length > 1) line(plot, all[place], style, dash);
    if (!courses[place].order) points(plot, all[place], `${style} solid`);
  }
  if (shown(chosen.course)) {
    upright(plot, costs[at], "upright c0");
    dot(plot, costs[at], all[chosen.course][at][1], "c0");
  }
  return plot.root;
}

/** Half of the 95 % interval of the change in accuracy: rows change by −1, 0 or 1. */
function halfWidth(lost, won, nRows) {
  const change = (won - lost) / nRows;
  return 1.959964 * Math.sqrt(((won + lost) / nRows - change * change) / nRows);
}

function drawLegend(data, hidden, redraw) {
  return data.courses.map((course, place) => {
    const [style, dash] = styleOf(place, data.chosen.course);
    const sample = course.sizes.length > 1 ? svg("path", { class: `line ${style}`, d: "M0 6H26" })
      : svg("circle", { class: `dot ${style}`, cx: 13, cy: 6, r: 5 });
    if (dash && course.sizes.length > 1) sample.setAttribute("stroke-dasharray", dash);
    const button = html("button", { type: "button", "aria-pressed": String(!hidden.has(place)) },
      svg("svg", { width: 26, height: 12, "aria-hidden": "true" }, sample),
      html("span", {}, course.label));
    button.addEventListener("click", () => {
      if (!hidden.delete(place)) hidden.add(place);
      button.setAttribute("aria-pressed", String(!hidden.has(place)));
      redraw();
    });
    return button;
  });
}

function drawKappa(data, width) {
  const { kept, others, front } = data.kappa_error;
  const all = [...kept, ...others, ...front];
  const plot = frame({ width: Math.min(width, 640), height: 400,
    x: { domain: around(all.map(([k]) => k)), label: "κ: agreement beyond chance",
      format: (v) => v.toFixed(2) },
    y: { domain: around(all.map(([, e]) => e)), label: "mean error", format: (v) => v.toFixed(2) },
    label: "Agreement and mean error of pairs of members" });
  points(plot, others, "grey");
  points(plot, kept, "c0");
  line(plot, front, "front");
  return plot.root;
}

function drawDistances(data, matrix) {
  const { members, order, low, high } = data.distances;
  const n = members.length;
  const kept = new Set(data.chosen.members);
  const canvas = heatmap(matrix, n, order, low, high);
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", "Distances of all pairs of members, by clusters");
  const ticks = (across) => {
    const marks = order.flatMap((place, at) => kept.has(members[place])
      ? [svg("rect", across ? { x: at, y: 0, width: 1, height: 1 }
        : { x: 0, y: at, width: 1, height: 1 })] : []);
    const box = across ? `0 0 ${n} 1` : `0 0 1 ${n}`;
    const drawn = svg("svg", { viewBox: box, preserveAspectRatio: "none" }, ...marks);
    return html("div", { class: across ? "across" : "down", "aria-hidden": "true" }, drawn);
  };
  const colours = [0, 0.25, 0.5, 0.75, 1].map((v) => `rgb(${cividis(v).join(" ")})`).join(",");
  const bar = html("i", {});
  bar.style.background = `linear-gradient(90deg,${colours})`;
  const reading = html("span", { class: "note" });
  canvas.addEventListener("pointermove", (event) => {
    const box = canvas.getBoundingClientRect();
    const [row, column] = [(event.clientY - box.top) / box.height,
      (event.clientX - box.left) / box.width].map((part) =>
      order[Math.min(n - 1, Math.max(0, Math.floor(part * n)))]);
    const value = Math.max(0, matrix[row * n + column]);
    const names = [row, column].map((place) => data.ensemble.names[members[place]]);
    reading.textContent = row === column ? "" : `${names.join(" and ")}: ${value.toFixed(4)}`;
  });
  return [html("div", { class: "heat" }, ticks(true), ticks(false), canvas),
    html("div", { class: "scale" }, `≤ ${low.toFixed(2)}`, bar, `≥ ${high.toFixed(2)}`, reading)];
}

function drawSteps(data, width) {
  const after = data.steps.map((step, i) => [i + 1, step.accuracy]);
  const alone = data.steps.map((step, i) => [i + 1, step.alone]);
  const plot = frame({ width, height: 280,
    x: { domain: [0.5, after.length + 0.5], label: "step", whole: true, format: plainNumber },
    y: { domain: sharesAround([...after, ...alone].map(([, a]) => a)), label: "accuracy",
      format: percent },
    label: "Accuracy of the vote after each step, and of each member alone" });
  points(plot, alone, "c1 solid");
  if (after.length > 1) line(plot, after, "c0 strong");
  else dot(plot, ...after[0], "c0");
  return plot.root;
}

function drawWeights(data, width) {
  const { grid, accuracy, half_width: half, overlap } = data.weights;
  const each = (values) => grid.map((weight, i) => [weight, values[i]]);
  const lower = accuracy.map((value, i) => value - half[i]);
  const upper = accuracy.map((value, i) => value + half[i]);
  const ofAll = data.whole.held_out / data.whole.n_rows;
  const x = { domain: [0, 1], label: "weight of diversity λ", format: (v) => v.toFixed(1) };
  const top = frame({ width, height: 260, x,
    y: { domain: sharesAround([...lower, ...upper, ofAll]), label: "accuracy", format: percent },
    label: "Accuracy on rows held out by weight of diversity" });
  level(top, ofAll, "level", "all members");
  band(top, each(lower), each(upper), "c0");
  line(top, each(accuracy), "c0 strong");
  const bottom = frame({ width, height: 150, x,
    y: { domain: [0, 1], label: "overlap", format: (v) => v.toFixed(1) },
    label: "Overlap of the chosen members with those kept, by weight of diversity" });
  line(bottom, each(overlap), "c1 strong", "7 3");
  const own = data.courses[data.chosen.course].weight;
  if (own !== null) for (const plot of [top, bottom]) upright(plot, own, "upright c0");
  return [top.root, bottom.root];
}
