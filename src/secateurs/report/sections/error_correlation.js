"use strict";
// Correlation of errors: a point for each pair of members.

drawings["plot-correlation"] = ({ data, width }) => {
  const { kept, others } = data.error_correlation;
  const all = [...kept, ...others];
  const plot = frame({ width: Math.min(width, 640), height: 400,
    x: { domain: around(all.map(([c]) => c)), label: "correlation of errors",
      format: (v) => v.toFixed(2) },
    y: { domain: around(all.map(([, e]) => e)), label: "root mean squared error",
      format: plainNumber },
    label: "Correlation and size of errors for pairs of members" });
  points(plot, others, "grey");
  points(plot, kept, "c0");
  return [plot.root, readPoints(plot, [
    { label: "pair of members", points: others, style: "c6" },
    { label: "pair of kept members", points: kept, style: "c0" },
  ], { x: ["correlation", (v) => v.toFixed(3)], y: ["error", plainNumber] })];
};
