"use strict";
// The page: unpack, draw, and let one choose otherwise.

const plotWidth = () => Math.max(260, Math.min(1120, document.querySelector("main").clientWidth));

async function main() {
  const data = JSON.parse(byId("data").textContent);
  const { weights, distances } = data;
  const [triangle, relevance, choosing, testing] = await Promise.all([
    unpack(distances.triangle),
    weights && unpack(weights.relevance),
    readVotes(data.choosing),
    data.testing && readVotes(data.testing),
  ]);
  const matrix = fromTriangle(triangle, distances.members.length, ALIKE);
  const courses = new Courses(data, { distances: matrix, relevance, choosing, testing });
  const hidden = new Set();
  const put = (id, ...drawn) => byId(id) && byId(id).replaceChildren(...drawn);
  let axis = "members";
  const drawMain = () => put("plot-curve", drawCurve(data, plotWidth(), axis, hidden));
  const draw = () => {
    drawMain();
    if (data.kappa_error.n_pairs) put("plot-kappa", drawKappa(data, plotWidth()));
    put("plot-steps", drawSteps(data, plotWidth()));
    if (weights) put("plot-weights", ...drawWeights(data, plotWidth()));
  };
  for (const figure of document.querySelectorAll("figure.drawn")) figure.hidden = false;
  put("legend", ...drawLegend(data, hidden, drawMain));
  put("plot-distances", ...drawDistances(data, matrix));
  draw();
  const whatIf = new WhatIf(data, courses, (cost) => {
    axis = cost;
    drawMain();
  });
  let width = plotWidth();
  new ResizeObserver(() => {
    if (plotWidth() === width) return;
    width = plotWidth();
    draw();
    whatIf.update(false);
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
