"use strict";
// Accuracy against size: a line for each method, and a legend that hides and shows them.

function styleOf(place, chosen) {
  if (place === chosen) return ["c0 strong", ""];
  const other = place > chosen ? place - 1 : place;
  return [`c${1 + (other % 6)}`, DASHES[(1 + other + Math.floor(other / 6)) % DASHES.length]];
}

function drawCurve({ data, width, axis, hidden }) {
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
    label: "Accuracy on held-out rows against size, one line per method" });
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

function drawLegend({ data, hidden }, redraw) {
  return (data.courses ?? data.score_size.curves).map((course, place) => {
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

drawings["plot-curve"] = (page) => [drawCurve(page)];
