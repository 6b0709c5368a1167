"use strict";
// Score against size, of numbers: a line for each method.

drawings["plot-score"] = ({ data, width, hidden }) => {
  const { whole, curves } = data.score_size;
  const { keep, course: chosen } = data.chosen;
  const all = curves.map(({ sizes, values }) => sizes.map((size, i) => [size, values[i]]));
  const shown = all.flat().filter(([size]) => size >= keep / 3).map(([, value]) => value);
  const plot = frame({ width, height: Math.min(420, 200 + width * 0.3),
    x: costAxis("members", costDomain(all)),
    y: { domain: around([...shown, whole]), label: data.score.label, format: plainNumber },
    label: `${data.score.label} on held-out rows against size, one line per method` });
  level(plot, whole, "level", "all members");
  const last = curves.map((_, place) => place).sort((a) => (a === chosen ? 1 : -1));
  for (const place of last.filter((one) => !hidden.has(one))) {
    const [style, dash] = styleOf(place, chosen);
    if (all[place].length > 1) line(plot, all[place], style, dash);
    if (!curves[place].is_nested) points(plot, all[place], `${style} solid`);
  }
  const at = curves[chosen].sizes.indexOf(keep);
  if (!hidden.has(chosen) && at >= 0) {
    const [, value] = all[chosen][at];
    const half = curves[chosen].half_width[at];
    if (half !== null) line(plot, [[keep, value - half], [keep, value + half]], "c0");
    dot(plot, keep, value, "c0");
  }
  return [plot.root];
};
