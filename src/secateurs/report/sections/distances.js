"use strict";
// Distances between members: a heatmap ordered by cluster.

const CIVIDIS = ["#00204d", "#00336f", "#39486b", "#575c6d", "#707173", "#8a8779", "#a69d75",
  "#c4b56c", "#e4cf5b", "#ffea46"].map((text) => parseInt(text.slice(1), 16));

function drawDistances({ data, matrix }) {
  const { members, order, low, high } = data.distances;
  const n = members.length;
  const kept = new Set(data.chosen.members);
  const canvas = heatmap(matrix, n, order, low, high);
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", "Distances of all pairs of members, ordered by cluster");
  const ticks = (across) => {
    const marks = order.flatMap((index, at) => kept.has(members[index])
      ? [svg("rect", across ? { x: at, y: 0, width: 1, height: 1 }
        : { x: 0, y: at, width: 1, height: 1 })] : []);
    const box = across ? `0 0 ${n} 1` : `0 0 1 ${n}`;
    const drawn = svg("svg", { viewBox: box, preserveAspectRatio: "none" }, ...marks);
    return html("div", { class: across ? "across" : "down", "aria-hidden": "true" }, drawn);
  };
  const colours = [0, 0.25, 0.5, 0.75, 1].map((v) => `rgb(${cividis(v).join(" ")})`).join(",");
  const bar = html("i", {});
  bar.style.background = `linear-gradient(90deg,${colours})`;
  const reading = html("span", { class: "note", role: "status" });
  const cell = [0, 0];
  const read = (down, across) => {
    [down, across].forEach((at, i) => { cell[i] = Math.min(n - 1, Math.max(0, at)); });
    const [row, column] = cell.map((at) => order[at]);
    const value = Math.max(0, matrix[row * n + column]);
    const names = [row, column].map((index) => data.ensemble.names[members[index]]);
    reading.textContent = row === column ? names[0] : `${names.join(" and ")}: ${value.toFixed(4)}`;
  };
  canvas.addEventListener("pointermove", (event) => {
    const box = canvas.getBoundingClientRect();
    read(Math.floor(((event.clientY - box.top) / box.height) * n),
      Math.floor(((event.clientX - box.left) / box.width) * n));
  });
  canvas.setAttribute("tabindex", "0");
  canvas.addEventListener("focus", () => canvas.matches(":focus-visible") && read(...cell));
  canvas.addEventListener("keydown", (event) => {
    const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    if (!step) return;
    event.preventDefault();
    read(cell[0] + step[0], cell[1] + step[1]);
  });
  return [html("div", { class: "heat" }, ticks(true), ticks(false), canvas),
    html("div", { class: "scale" }, `≤ ${low.toFixed(2)}`, bar, `≥ ${high.toFixed(2)}`, reading)];
}

/** Return the colour of a value between 0 and 1; cividis suits all kinds of colour vision. */
function cividis(value) {
  const position = Math.min(1, Math.max(0, value)) * (CIVIDIS.length - 1);
  const low = Math.min(CIVIDIS.length - 2, Math.floor(position));
  const mix = position - low;
  return [16, 8, 0].map((shift) => {
    const [from, to] = [CIVIDIS[low], CIVIDIS[low + 1]].map((colour) => (colour >> shift) & 255);
    return Math.round(from + (to - from) * mix);
  });
}

/** Paint a matrix with rows and columns in an order, one pixel per cell; the diagonal is empty. */
function heatmap(matrix, n, order, low, high) {
  const canvas = html("canvas", { width: n, height: n });
  const context = canvas.getContext("2d");
  const image = context.createImageData(n, n);
  for (let row = 0; row < n; row++) {
    for (let column = 0; column < n; column++) {
      if (row === column) continue;
      const value = Math.max(0, matrix[order[row] * n + order[column]]);
      image.data.set([...cividis((value - low) / (high - low || 1)), 255], 4 * (row * n + column));
    }
  }
  context.putImageData(image, 0, 0);
  return canvas;
}

let heat; // drawn once: CSS adapts it to the width
drawings["plot-distances"] = (page) => (heat ??= drawDistances(page));
