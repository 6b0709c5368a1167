"use strict";
// Weight of diversity: score and overlap by λ.

drawings["plot-weights"] = ({ data, width }) => {
  const { grid, at_keep: values, half_width: half, overlap } = data.weights;
  const each = (found) => grid.map((weight, i) => [weight, found[i]]);
  const ends = values.map((value, i) => endsOf(data, value, half[i] ?? 0));
  const [lower, upper] = [ends.map(([low]) => low), ends.map(([, high]) => high)];
  const { whole } = data.score_size;
  const x = { domain: [0, 1], label: "weight of diversity λ", format: (v) => v.toFixed(1) };
  const top = frame({ width, height: 260, x,
    y: scoreAxis(data, [...lower, ...upper, whole]),
    label: `${data.score.label} on held-out rows by weight of diversity` });
  level(top, whole, "level", "all members");
  band(top, each(lower), each(upper), "c0");
  line(top, each(values), "c0 strong");
  const bottom = frame({ width, height: 150, x,
    y: { domain: [0, 1], label: "overlap", format: (v) => v.toFixed(1) },
    label: "Overlap of the chosen members with the kept ones, by weight of diversity" });
  line(bottom, each(overlap), "c1 strong", "7 3");
  const own = data.courses[data.chosen.course].weight;
  if (own !== null) for (const plot of [top, bottom]) upright(plot, own, "upright c0");
  const both = [{ label: data.score.label, points: each(values), style: "c0" }];
  const told = { title: (weight) => `λ = ${plainNumber(weight)}`, text: scoreText, start: own ?? 0.5 };
  const shares = [{ label: "overlap", points: each(overlap), style: "c1", text: (v) => v.toFixed(2) }];
  return [html("div", {}, top.root, readLines(top, both, told)),
    html("div", {}, bottom.root, readLines(bottom, shares, told))];
};
