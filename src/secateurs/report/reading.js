"use strict";
// Values of a drawing, told under the pointer and, by arrow keys, under the focus.

/**
 * Let a drawing be read. `find` returns the place nearest to x and y in the drawing, `tell` what to
 * show of a place: its title, lines of [style, label, text], and points to mark. Returns the box.
 */
function readable(plot, { n, start, find, tell }) {
  const { root } = plot;
  const marks = svg("g", { class: "reading-marks", "aria-hidden": "true" });
  const box = html("div", { class: "reading", role: "status", hidden: "" });
  let place = start;
  const show = (wanted) => {
    place = Math.min(n - 1, Math.max(0, wanted));
    const { title, lines, points: told, upright: across } = tell(place);
    marks.replaceChildren(...(across ? [svg("line", { class: "mark", x1: plot.x(across),
      x2: plot.x(across), y1: plot.top, y2: plot.bottom })] : []),
    ...told.map(([style, [x, y]]) =>
      svg("circle", { class: `dot ${style}`, cx: plot.x(x), cy: plot.y(y), r: 4.5 })));
    box.replaceChildren(html("b", {}, title), ...lines.map(([style, label, text]) =>
      html("div", {}, html("i", { class: style }), html("span", {}, label), html("em", {}, text))));
    const at = (plot.x(told[0][1][0]) / plot.width) * 100;
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
  root.setAttribute("aria-label", `${root.getAttribute("aria-label")}. Arrow keys read values.`);
  root.append(marks);
  root.addEventListener("pointermove", follow);
  root.addEventListener("pointerdown", follow);
  root.addEventListener("pointerleave", () => (root.matches(":focus-visible") ? show(place) : hide()));
  root.addEventListener("focus", () => root.matches(":focus-visible") && show(place));
  root.addEventListener("blur", hide);
  root.addEventListener("keydown", (event) => {
    const steps = { ArrowRight: place + 1, ArrowLeft: place - 1, PageUp: place + 10,
      PageDown: place - 10, Home: 0, End: n - 1 };
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

/** Let lines be read: `series` have a label, a style and points; the first one leads. */
function readLines(plot, series, { title, text, start }) {
  const xs = [...new Set(series.flatMap((one) => one.points.map(([x]) => x)))].sort((a, b) => a - b);
  const across = xs.map(plot.x);
  const tell = (place) => {
    const found = series.flatMap((one) => {
      const point = one.points[nearestOf(one.points.map(([x]) => x), xs[place])];
      const near = Math.abs(plot.x(point[0]) - across[place]) <= 3;
      return near ? [{ ...one, point }] : [];
    });
    return { title: title(xs[place]), upright: xs[place],
      lines: found.map((one) => [one.style, one.label, (one.text ?? text)(one.point[1])]),
      points: found.map((one) => [one.style, one.point]) };
  };
  return readable(plot, { n: xs.length, start: nearestOf(xs, start ?? xs[0]),
    find: (x) => nearestOf(across, x), tell });
}

/** Let points be read: the nearest one under the pointer, by arrow keys from left to right. */
function readPoints(plot, series, { x: xText, y: yText }) {
  const all = series.flatMap((one) => one.points.map((point) => ({ ...one, point })))
    .sort((a, b) => a.point[0] - b.point[0]);
  if (!all.length) return html("div", { class: "reading", hidden: "" });
  const places = all.map(({ point }) => [plot.x(point[0]), plot.y(point[1])]);
  const away = (x, y) => places.map(([px, py]) => (px - x) ** 2 + (py - y) ** 2);
  return readable(plot, { n: all.length, start: 0,
    find: (x, y) => nearestOf(away(x, y), 0),
    tell: (place) => {
      const { label, style, point } = all[place];
      return { title: label, points: [[style, point]],
        lines: [[style, xText[0], xText[1](point[0])], [style, yText[0], yText[1](point[1])]] };
    } });
}
