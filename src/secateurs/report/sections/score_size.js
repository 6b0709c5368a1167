"use strict";
// Score against size: one line per method, and a legend to hide and show them.

/** Return colour and dashes: the reported method and its rival are solid, random members grey. */
function styleOf(index, { shown }) {
  if (shown.includes(index)) {
    return [["c0 strong", ""], ["c1", ""], ["c6", "2 3"]][shown.indexOf(index)];
  }
  const other = index - shown.filter((one) => one < index).length;
  return [`c${2 + (other % 4)}`, DASHES[(1 + other + Math.floor(other / 4)) % DASHES.length]];
}

/** Return the start of the cost axis: a third of the reported cost, or the lowest single point. */
function leastCost(page, shown, all) {
  const { data, allSizes } = page;
  const { curves } = data.score_size;
  if (allSizes) return 0;
  const { course, keep } = data.chosen;
  const own = all[course][curves[course].sizes.indexOf(keep)] ?? all[course][0];
  const single = shown.filter((index) => !curves[index].is_nested).flatMap((index) => all[index]);
  return Math.min(own[0] / 3, ...single.map(([cost]) => cost));
}

function drawScores(page) {
  const { data, width, axis, hidden } = page;
  const { curves, whole, choosing } = data.score_size;
  const { chosen } = data;
  const main = curves[chosen.course];
  const indices = curves.map((_, index) => index);
  const shown = indices.filter((index) => !hidden.has(index));
  const everything = indices.map((index) => scorePoints(data, index, axis));
  const least = leastCost(page, shown, everything);
  const all = everything.map((points) => fromOn(points, least));
  page.isCut = shown.some((index) => all[index].length < everything[index].length);
  const isMain = !hidden.has(chosen.course);
  const own = everything[chosen.course];
  const half = main.half_width;
  const wide = isMain ? own.flatMap(([x, y], i) => (half[i] === null || x < least ? []
    : [[x, ...endsOf(data, y, half[i])]])) : [];
  const before = isMain && choosing && page.showsChoosing
    ? fromOn(own.map(([x], i) => [x, choosing.values[i]]), least) : [];
  const drawn = [...shown.map((index) => all[index]), before];
  const plot = frame({ width, height: Math.min(420, 210 + width * 0.27),
    x: costAxis(axis, drawn.flat().length ? drawn : [own]),
    y: scoreAxis(data, [...drawn.flat().map(([, y]) => y), whole, ...wide.flatMap(([, ...y]) => y)]),
    label: `${data.score.label} on held-out samples by size, one line per method` });
  level(plot, whole, "level", `full ensemble: ${counted(data.ensemble.n_members, "member")}`);
  if (wide.length > 1 && !half.includes(null)) {
    band(plot, wide.map(([x, y]) => [x, y]), wide.map(([x, , y]) => [x, y]), "c0");
  } else for (const [x, low, high] of wide) line(plot, [[x, low], [x, high]], "c0 bar");
  if (before.length > 1) line(plot, before, "c0", "6 4");
  const last = [...shown].sort((a) => (a === chosen.course ? 1 : -1));
  for (const index of last) {
    const [style, dash] = styleOf(index, data.score_size);
    if (all[index].length > 1 && curves[index].is_nested) line(plot, all[index], style, dash);
    else points(plot, all[index], `${style} solid`);
  }
  const at = own[main.sizes.indexOf(chosen.keep)];
  if (isMain && at) {
    upright(plot, at[0], "upright c0");
    dot(plot, ...at, "c0");
  }
  const series = [...last].reverse().map((index) => ({ label: curves[index].label, points: all[index],
    style: styleOf(index, data.score_size)[0] }));
  if (before.length) series.push({ label: choosingLabel(data), points: before, style: "c0" });
  const readings = series.filter((one) => one.points.length);
  if (!readings.length) return [plot.root];
  return [plot.root, readLines(plot, readings, { title: costTitle(axis), text: scoreText,
    start: at && at[0] })];
}

function sample(style, dash, isLine) {
  const shape = isLine ? svg("path", { class: `line ${style}`, d: "M0 6H26" })
    : svg("circle", { class: `dot ${style}`, cx: 13, cy: 6, r: 5 });
  if (dash && isLine) shape.setAttribute("stroke-dasharray", dash);
  return svg("svg", { width: 26, height: 12, "aria-hidden": "true" }, shape);
}

/** Draw the legend: the methods shown at first, and the others after a click on a button. */
function drawLegend(page, redraw) {
  const { data, hidden } = page;
  const { curves, shown } = data.score_size;
  const toggles = curves.map((curve, index) => {
    const button = html("button", { type: "button" },
      sample(...styleOf(index, data.score_size), curve.is_nested), html("span", {}, curve.label));
    button.addEventListener("click", () => {
      if (!hidden.delete(index)) hidden.add(index);
      update();
    });
    return button;
  });
  const others = curves.map((_, index) => index).filter((index) => !shown.includes(index));
  const more = html("button", { type: "button", class: "more", "aria-expanded": "false" });
  const everyOne = html("button", { type: "button", class: "more" });
  const start = html("button", { type: "button", class: "more" });
  const before = html("button", { type: "button", id: "show-choosing" }, sample("c0", "6 4", true),
    html("span", {}, choosingLabel(data)));
  before.addEventListener("click", () => {
    page.showsChoosing = !page.showsChoosing;
    update();
  });
  before.hidden = !choosingLabel(data);
  const update = () => {
    toggles.forEach((button, index) =>
      button.setAttribute("aria-pressed", String(!hidden.has(index))));
    before.setAttribute("aria-pressed", String(page.showsChoosing));
    const open = more.getAttribute("aria-expanded") === "true";
    for (const index of others) toggles[index].hidden = !open && hidden.has(index);
    more.textContent = open ? "Fewer" : `Show ${others.length} more`;
    everyOne.textContent = hidden.size ? "Draw all" : "Draw three";
    everyOne.hidden = !open;
    redraw();
    start.hidden = !page.isCut && !page.allSizes;
    start.textContent = page.allSizes ? "Zoom in" : "Show smaller sizes";
  };
  more.addEventListener("click", () => {
    more.setAttribute("aria-expanded", String(more.getAttribute("aria-expanded") !== "true"));
    update();
  });
  everyOne.addEventListener("click", () => {
    const all = hidden.size > 0;
    hidden.clear();
    if (!all) for (const index of others) hidden.add(index);
    update();
  });
  start.addEventListener("click", () => {
    page.allSizes = !page.allSizes;
    update();
  });
  more.hidden = others.length === 0;
  update();
  return [...shown.map((index) => toggles[index]), before, more, everyOne,
    ...others.map((index) => toggles[index]), start];
}

/** Return the label of the dashed line; it names a vote that differs from the other lines. */
function choosingLabel({ score_size: { choosing, curves }, chosen }) {
  if (!choosing || curves[chosen.course].sizes.length < 2) return "";
  const { label } = curves[chosen.course];
  return `${label}, validation set${choosing.counts_labels ? ", counting labels" : ""}`;
}

drawings["plot-score"] = drawScores;
