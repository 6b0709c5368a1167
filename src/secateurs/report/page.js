"use strict";
// Entry point: unpack the data, draw the sections and start "What if?".

const plotWidth = () => Math.max(260, Math.min(1120, document.querySelector("main").clientWidth));

/** Unpack votes and distances; return the values that the sections for classifiers use. */
async function readAll(data) {
  const { weights, distances } = data;
  const [triangle, relevance, choosing, testing] = await Promise.all([
    unpack(distances.triangle),
    weights && unpack(weights.relevance),
    readVotes(data.choosing),
    data.testing && readVotes(data.testing),
  ]);
  const matrix = fromTriangle(triangle, distances.members.length, ALIKE);
  return { matrix, courses: new Courses(data, { distances: matrix, relevance, choosing, testing }) };
}

/** Return the methods that are hidden at first. */
function hiddenAtFirst({ score_size: { curves, shown } }) {
  return new Set(curves.map((_, index) => index).filter((index) => !shown.includes(index)));
}

async function main() {
  const data = JSON.parse(byId("data").textContent);
  const isLabels = data.ensemble.predicts !== "numbers";
  const { matrix, courses } = isLabels ? await readAll(data) : {};
  const page = { data, matrix, axis: "members", hidden: hiddenAtFirst(data),
    allSizes: false, showsChoosing: false, get width() { return plotWidth(); } };
  const draw = (...ids) => {
    for (const id of ids) if (byId(id)) byId(id).replaceChildren(...drawings[id](page));
  };
  const drawAll = () => draw(...Object.keys(drawings));
  for (const figure of document.querySelectorAll("figure.drawn")) figure.hidden = false;
  document.querySelectorAll("#reproduce pre").forEach((block) => showCommand(block, block.textContent));
  document.querySelectorAll("table.sortable").forEach(makeSortable);
  byId("legend").replaceChildren(...drawLegend(page, () => draw("plot-score")));
  drawAll();
  const whatIf = isLabels && new WhatIf(data, courses, (cost) => {
    page.axis = cost;
    draw("plot-score");
  });
  let { width } = page;
  new ResizeObserver(() => {
    if (page.width === width) return;
    ({ width } = page);
    drawAll();
    if (whatIf) whatIf.update(false);
  }).observe(document.querySelector("main"));
  const download = byId("download");
  download.hidden = false;
  download.addEventListener("click", () => {
    const file = new Blob([JSON.stringify(data)], { type: "application/json" });
    const link = html("a", { href: URL.createObjectURL(file), download: "run.json" });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  });
  window.secateurs = { data, courses, whatIf };
  document.documentElement.dataset.ready = "true";
}

main();
