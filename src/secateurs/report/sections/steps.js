"use strict";
// Order of choice: the vote after each step, and each member alone.

drawings["plot-steps"] = ({ data, width }) => {
  const after = data.steps.map((step, i) => [i + 1, step.accuracy]);
  const alone = data.steps.map((step, i) => [i + 1, step.alone]);
  const plot = frame({ width, height: 280,
    x: { domain: [0.5, after.length + 0.5], label: "step", whole: true, format: plainNumber },
    y: { domain: sharesAround([...after, ...alone].map(([, a]) => a)), label: "accuracy",
      format: percent },
    label: "Accuracy of the vote after each step, and of each member alone" });
  points(plot, alone, "c1 solid");
  if (after.length > 1) line(plot, after, "c0 strong");
  else dot(plot, ...after[0], "c0");
  return [plot.root];
};
