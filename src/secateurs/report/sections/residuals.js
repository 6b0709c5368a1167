"use strict";
// Predicted against true values, for the full and the pruned ensemble.

drawings["plot-residuals"] = ({ data, width }) => {
  const rows = data.residuals.points;
  const domain = around(rows.flat());
  const plot = frame({ width: Math.min(width, 640), height: Math.min(560, width),
    x: { domain, label: "true", format: plainNumber },
    y: { domain, label: "predicted", format: plainNumber },
    label: "Predicted against true values of held-out samples" });
  points(plot, rows.map(([truth, whole]) => [truth, whole]), "grey");
  points(plot, rows.map(([truth, , kept]) => [truth, kept]), "c0");
  line(plot, [[domain[0], domain[0]], [domain[1], domain[1]]], "front");
  return [plot.root, readPoints(plot, [
    { label: "full ensemble", points: rows.map(([truth, whole]) => [truth, whole]), style: "c6" },
    { label: "pruned ensemble", points: rows.map(([truth, , kept]) => [truth, kept]), style: "c0" },
  ], { x: ["true", plainNumber], y: ["predicted", plainNumber] })];
};
