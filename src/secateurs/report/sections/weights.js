"use strict";
// Weight of diversity: accuracy and overlap by λ.

drawings["plot-weights"] = ({ data, width }) => {
  const { grid, accuracy, half_width: half, overlap } = data.weights;
  const each = (values) => grid.map((weight, i) => [weight, values[i]]);
  const lower = accuracy.map((value, i) => value - half[i]);
  const upper = accuracy.map((value, i) => value + half[i]);
  const ofAll = data.whole.held_out / data.whole.n_rows;
  const x = { domain: [0, 1], label: "weight of diversity λ", format: (v) => v.toFixed(1) };
  const top = frame({ width, height: 260, x,
    y: { domain: sharesAround([...lower, ...upper, ofAll]), label: "accuracy", format: percent },
    label: "Accuracy on held-out rows by weight of diversity" });
  level(top, ofAll, "level", "all members");
  band(top, each(lower), each(upper), "c0");
  line(top, each(accuracy), "c0 strong");
  const bottom = frame({ width, height: 150, x,
    y: { domain: [0, 1], label: "overlap", format: (v) => v.toFixed(1) },
    label: "Overlap of the chosen members with the kept ones, by weight of diversity" });
  line(bottom, each(overlap), "c1 strong", "7 3");
  const own = data.courses[data.chosen.course].weight;
  if (own !== null) for (const plot of [top, bottom]) upright(plot, own, "upright c0");
  return [top.root, bottom.root];
};
