"use strict";
// Agreement and error: a point for each pair of members.

drawings["plot-kappa"] = ({ data, width }) => {
  const { kept, others, front } = data.kappa_error;
  const all = [...kept, ...others, ...front];
  const plot = frame({ width: Math.min(width, 640), height: 400,
    x: { domain: around(all.map(([k]) => k)), label: "κ: agreement beyond chance",
      format: (v) => v.toFixed(2) },
    y: { domain: around(all.map(([, e]) => e)), label: "mean error", format: (v) => v.toFixed(2) },
    label: "Agreement and mean error for pairs of members" });
  points(plot, others, "grey");
  points(plot, kept, "c0");
  line(plot, front, "front");
  const text = (value) => value.toFixed(3);
  return [plot.root, readPoints(plot, [
    { label: "pair of members", points: others, style: "c6" },
    { label: "pair of kept members", points: kept, style: "c0" },
  ], { x: ["κ", text], y: ["mean error", text] })];
};
