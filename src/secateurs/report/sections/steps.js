"use strict";
// Order of selection: accuracy of the vote after each step, and of each member alone.

drawings["plot-steps"] = ({ data, width }) => {
  const after = data.steps.map((step, i) => [i + 1, step.accuracy]);
  const alone = data.steps.map((step, i) => [i + 1, step.alone]);
  const plot = frame({ width, height: 280,
    x: { domain: [0.5, after.length + 0.5], label: "step", whole: true, format: plainNumber },
    y: { domain: sharesAround([...after, ...alone].map(([, a]) => a)),
      label: "accuracy, counting labels" },
    label: "Accuracy of the vote after each step, and of each member alone" });
  points(plot, alone, "c1 solid");
  if (after.length > 1) line(plot, after, "c0 strong");
  else dot(plot, ...after[0], "c0");
  const names = data.steps.map((step) => data.ensemble.names[step.member]);
  return [plot.root, readLines(plot, [
    { label: "vote so far", points: after, style: "c0" },
    { label: "member alone", points: alone, style: "c1" },
  ], { title: (step) => `${step}. ${names[step - 1]}`, text: scoreText, start: 1 })];
};
