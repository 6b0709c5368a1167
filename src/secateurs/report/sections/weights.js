"use strict";
// Weight of diversity: score, and overlap with the kept members, by λ.

drawings["plot-weights"] = ({ data, width }) => {
  const { grid, at_keep: values, half_width: half, overlap } = data.weights;
  const each = (column) => grid.map((weight, i) => [weight, column[i]]);
  const ends = values.map((value, i) => endsOf(data, value, half[i] ?? 0));
  const [lower, upper] = [ends.map(([low]) => low), ends.map(([, high]) => high)];
  const { whole } = data.score_size;
  const x = { domain: [0, 1], label: "weight of diversity λ", format: (v) => v.toFixed(1) };
  const top = frame({ width, height: 260, x,
    y: scoreAxis(data, [...lower, ...upper, whole]),
    label: `${data.score.label} on held-out samples by weight of diversity` });
  level(top, whole, "level", "full ensemble");
  band(top, each(lower), each(upper), "c0");
  line(top, each(values), "c0 strong");
  const bottom = frame({ width, height: 150, x,
    y: { domain: [0, 1], label: "overlap", format: (v) => v.toFixed(1) },
    label: "Overlap of the selected members with the kept members, by weight of diversity" });
  line(bottom, each(overlap), "c1 strong", "7 3");
  const own = data.courses[data.chosen.course].weight;
  if (own !== null) for (const plot of [top, bottom]) upright(plot, own, "upright c0");
  const scores = [{ label: data.score.label, points: each(values), style: "c0" }];
  const format = { title: (weight) => `λ = ${plainNumber(weight)}`, text: scoreText, start: own ?? 0.5 };
  const overlaps = [{ label: "overlap", points: each(overlap), style: "c1", text: (v) => v.toFixed(2) }];
  return [html("div", {}, top.root, readLines(top, scores, format)),
    html("div", {}, bottom.root, readLines(bottom, overlaps, format))];
};
