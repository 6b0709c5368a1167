"use strict";
// Cost and score: the best panel within each total cost.

drawings["plot-frontier"] = ({ data, width }) => {
  const { rows, full } = data.frontier;
  const each = (column, at = "cost") => rows.filter((row) => row[column] !== null && row[at] !== null)
    .map((row) => [row[at], row[column]]);
  const held = each("score");
  // Asked in turn: panels that no other panel beats in both expected cost and validation score.
  const sign = rows.at(-1).validation_score >= rows[0].validation_score ? 1 : -1;
  let best = -Infinity;
  const turn = rows.filter((row) => row.cost_in_turn !== null)
    .sort((a, b) => a.cost_in_turn - b.cost_in_turn).filter((row) => {
      const better = sign * row.validation_score > best;
      if (better) best = sign * row.validation_score;
      return better;
    }).map((row) => [row.cost_in_turn, row.score]);
  const validation = each("validation_score");
  const bound = each("upper_bound");
  const ends = rows.map((row) => [row.score - (row.half_width ?? 0), row.score + (row.half_width ?? 0)]);
  const costs = [...held, ...turn].map(([cost]) => cost).concat(full.cost);
  const positive = costs.filter((cost) => cost > 0);
  const low = Math.min(...costs);
  const log = low > 0 && Math.max(...positive) / low > 8;
  const plot = frame({ width, height: 320,
    x: { domain: log ? [low * 0.9, Math.max(...costs) * 1.1] : around([0, ...costs], 0.03), log,
      label: "cost per query", format: plainNumber },
    y: scoreAxis(data, [...ends.flat(), ...validation.map(([, v]) => v), ...bound.map(([, v]) => v),
      full.score]),
    label: `${data.score.label} by cost per query` });
  level(plot, full.score, "level", "full ensemble");
  if (rows.length > 1) {
    band(plot, held.map(([x], i) => [x, ends[i][0]]), held.map(([x], i) => [x, ends[i][1]]), "c0");
    if (!rows.every((row) => row.is_optimal)) line(plot, bound, "c2", "2 3");
    line(plot, validation, "c1", "7 3");
    line(plot, turn, "c3", "9 3 2 3");
    line(plot, held, "c0 strong");
  }
  for (const [x, y] of held) dot(plot, x, y, "c0", 3.5);
  const series = [{ label: `${data.score.label} on held-out samples`, points: held, style: "c0" },
    { label: "on the validation samples", points: validation, style: "c1" },
    { label: "at best possible", points: bound, style: "c2" },
    { label: "asked in turn", points: turn, style: "c3" }].filter((one) => one.points.length);
  return [plot.root, readLines(plot, series,
    { title: (cost) => `cost ${plainNumber(cost)}`, text: scoreText, start: held[0][0] })];
};
