"use strict";
// Show the values of a plot at the pointer, or with the arrow keys if the plot has the focus.

/**
 * Make the values of a plot readable and return the box that shows them. `find` returns the index
 * of the value nearest to x and y; `describe` returns the title, lines of [style, label, text] and
 * marked points of an index.
 */
function readable(plot, { n, start, find, describe }) {
  const { root } = plot;
  const marks = svg("g", { class: "reading-marks", "aria-hidden": "true" });
  const box = html("div", { class: "reading", role: "status", hidden: "" });
  let current = start;
  const show = (wanted) => {
    current = Math.min(n - 1, Math.max(0, wanted));
    const { title, lines, points: marked, upright: across } = describe(current);
    marks.replaceChildren(...(across ? [svg("line", { class: "mark", x1: plot.x(across),
      x2: plot.x(across), y1: plot.top, y2: plot.bottom })] : []),
    ...marked.map(([style, [x, y]]) =>
      svg("circle", { class: `dot ${style}`, cx: plot.x(x), cy: plot.y(y), r: 4.5 })));
    box.replaceChildren(html("b", {}, title), ...lines.map(([style, label, text]) =>
      html("div", {}, html("i", { class: style }), html("span", {}, label), html("em", {}, text))));
    const at = (plot.x(marked[0][1][0]) / plot.width) * 100;
    box.style.left = at > 55 ? "" : `calc(${at.toFixed(2)}% + 14px)`;
    box.style.right = at > 55 ? `calc(${(100 - at).toFixed(2)}% + 14px)` : "";
    box.hidden = false;
  };
  const hide = () => {
    box.hidden = true;
    marks.replaceChildren();
  };
  const follow = (event) => {
    const drawn = root.getBoundingClientRect();
    show(find(((event.clientX - drawn.left) / drawn.width) * plot.width,
      ((event.clientY - drawn.top) / drawn.height) * plot.height));
  };
  root.setAttribute("tabindex", "0");
  root.setAttribute("aria-label", `${root.getAttribute("aria-label")}. Use the arrow keys to read values.`);
  root.append(marks);
  root.addEventListener("pointermove", follow);
  root.addEventListener("pointerdown", follow);
  root.addEventListener("pointerleave", () => (root.matches(":focus-visible") ? show(current) : hide()));
  root.addEventListener("focus", () => root.matches(":focus-visible") && show(current));
  root.addEventListener("blur", hide);
  root.addEventListener("keydown", (event) => {
    const steps = { ArrowRight: current + 1, ArrowLeft: current - 1, PageUp: current + 10,
      PageDown: current - 10, Home: 0, End: n - 1 };
    if (event.key === "Escape") hide();
    if (!(event.key in steps)) return;
    event.preventDefault();
    show(steps[event.key]);
  });
  return box;
}

const nearestOf = (values, wanted) => {
  let best = 0;
  values.forEach((value, i) => {
    if (Math.abs(value - wanted) < Math.abs(values[best] - wanted)) best = i;
  });
  return best;
};

/** Make lines readable; each of `series` has a label, a style and points. */
function readLines(plot, series, { title, text, start }) {
  const xs = [...new Set(series.flatMap((one) => one.points.map(([x]) => x)))].sort((a, b) => a - b);
  const across = xs.map(plot.x);
  const describe = (index) => {
    const found = series.flatMap((one) => {
      const point = one.points[nearestOf(one.points.map(([x]) => x), xs[index])];
      const near = Math.abs(plot.x(point[0]) - across[index]) <= 3; // pixels
      return near ? [{ ...one, point }] : [];
    });
    return { title: title(xs[index]), upright: xs[index],
      lines: found.map((one) => [one.style, one.label, (one.text ?? text)(one.point[1])]),
      points: found.map((one) => [one.style, one.point]) };
  };
  return readable(plot, { n: xs.length, start: nearestOf(xs, start ?? xs[0]),
    find: (x) => nearestOf(across, x), describe });
}

/** Make points readable: the nearest to the pointer, or with arrow keys from left to right. */
function readPoints(plot, series, { x: xText, y: yText }) {
  const all = series.flatMap((one) => one.points.map((point) => ({ ...one, point })))
    .sort((a, b) => a.point[0] - b.point[0]);
  if (!all.length) return html("div", { class: "reading", hidden: "" });
  const positions = all.map(({ point }) => [plot.x(point[0]), plot.y(point[1])]);
  const away = (x, y) => positions.map(([px, py]) => (px - x) ** 2 + (py - y) ** 2);
  return readable(plot, { n: all.length, start: 0,
    find: (x, y) => nearestOf(away(x, y), 0),
    describe: (index) => {
      const { label, style, point } = all[index];
      return { title: label, points: [[style, point]],
        lines: [[style, xText[0], xText[1](point[0])], [style, yText[0], yText[1](point[1])]] };
    } });
}
