"use strict";
// "What if?": explore other methods, sizes and weights in the page.

const LIVE = "comep"; // the method that the page runs itself

function signed(value) {
  const text = Math.abs(value).toFixed(4);
  return Number(text) === 0 ? text : (value < 0 ? "−" : "+") + text;
}

/** The selections of all methods by size, with votes counted in the page when needed. */
class Courses {
  constructor(data, votes) {
    this.data = data;
    this.votes = votes;
    const { curves } = data.score_size;
    this.all = data.courses.map((course, index) => ({ ...course, values: curves[index].values }));
    this.others = this.all.filter((course) => !course.live);
    this.methods = [...(data.weights ? [LIVE] : []), ...this.others.map((course) => course.label)];
    this.cache = new Map();
  }

  get(method, weight) {
    const live = this.data.weights !== null && method === LIVE;
    const key = live ? `${LIVE} ${weight}` : `= ${method}`;
    if (!this.cache.has(key)) {
      const course = live ? this.choose(weight) : this.others.find((one) => one.label === method);
      this.cache.set(key, { ...course, ...this.count(course) });
    }
    return this.cache.get(key);
  }

  choose(weight) {
    const { weights } = this.data;
    const index = weights.grid.indexOf(weight);
    const start = weights.starts[index];
    const order = comepOrder(this.votes.distances, this.votes.relevance, weight, start);
    const right = weights.held_out[index];
    return { label: LIVE, method: LIVE, weight, options: `--diversity-weight ${weight}`, order, sizes: weights.sizes, held_out: { right },
      values: weights.values ? weights.values[index]
        : right.map((count) => count / this.data.whole.n_rows),
      held_out_labels: weights.held_out_labels[index] };
  }

  /** Count the correct predictions at each size, on the validation set and on the test set. */
  count(course) {
    const right = (table) => {
      if (!table) return null;
      const bySize = course.order && rightBySize(table, course.order);
      return course.sizes.map((size, index) => {
        const weights = course.weights && course.weights[index];
        if (weights) return rightByWeights(table, membersOf(course, index), weights);
        return bySize ? bySize[size - 1] : rightBySize(table, course.sets[index]).at(-1);
      });
    };
    return { onChoosing: right(this.votes.choosing), onTesting: right(this.votes.testing) };
  }
}

function membersOf(course, index) {
  return course.order ? course.order.slice(0, course.sizes[index]) : course.sets[index];
}

/** Return the index of the size nearest to the wanted size. */
function nearest(sizes, wanted) {
  const away = sizes.map((size) => Math.abs(size - wanted));
  return away.indexOf(Math.min(...away));
}

/** Return the index of the smallest size within a tolerance of the full ensemble, or -1. */
function smallestWithin(data, course, tolerance) {
  const sign = data.score.larger_is_better ? 1 : -1;
  const enough = sign * data.score_size.whole - tolerance - 1e-9;
  return course.values.findIndex((value) => sign * value >= enough);
}

function figuresOf(data, course, index) {
  const { whole, rows, score } = data;
  const members = membersOf(course, index);
  const figures = [[`${score.label}, held out`, scoreText(course.values[index])],
    ["change against full ensemble", signed(course.values[index] - data.score_size.whole)]];
  const labels = rows.counts_labels ? "" : ", counting labels";
  const accuracy = score.name === "accuracy" ? "" : "accuracy, ";
  if (accuracy) {
    figures.push(["accuracy, held out", (course.held_out.right[index] / whole.n_rows).toFixed(4)]);
  }
  if (labels && !accuracy && course.held_out_labels) {
    const byLabels = course.held_out_labels[index] / whole.n_rows;
    figures.push([`held out${labels}`, byLabels.toFixed(4)]);
  }
  const onChoosing = course.onChoosing[index] / data.choosing.n_rows;
  figures.push([`${accuracy}validation set${labels}`, onChoosing.toFixed(4)]);
  figures.push(["members", members.length.toLocaleString("en")]);
  for (const [axis, name] of [["bytes", "megabytes"], ["ms", "ms per row"]]) {
    if (data.costs[axis]) {
      figures.push([name, plainNumber(costsBySize(data, members, axis).at(-1))]);
    }
  }
  return figures;
}

/** Return the command and the line of Python that repeat a selection. */
function commandsOf(data, course, size) {
  const { command, call, arguments: more } = data.reproduce;
  const { method, weight, options } = course;
  const shell = method === null || command === null ? ""
    : `${command} --pruner ${method} --keep ${size} ${options}`.trim();
  const weighted = weight === null ? "" : `, diversity_weight=${weight}`;
  const short = `"${method}", keep=${size}${weighted}`;
  return [shell, `${call}${course.call ? course.call.replace("{keep}", size) : short}${more})`];
}

/** Return cost and score of each size of a course. */
function coursePoints(data, course, axis) {
  return courseCosts(data, course, axis).map((cost, i) => [cost, course.values[i]]);
}

function drawWhatIf(data, courses, course, index, state, width) {
  const { cost: axis, tolerance } = state;
  const sign = data.score.larger_is_better ? 1 : -1;
  const flip = (points) => points.map(([x, y]) => [x, sign * y]);
  const everything = coursePoints(data, course, axis);
  const current = everything[index];
  const least = current[0] / 3;
  const mine = fromOn(everything, least);
  const any = [...courses.all, course].flatMap((one) => coursePoints(data, one, axis));
  const front = flip(paretoFront(flip(any)));
  const most = Math.max(...any.map(([cost]) => cost));
  const best = fromOn(stairs([...front, [most, front.at(-1)[1]]]), least);
  const { whole } = data.score_size;
  const allowed = whole - sign * tolerance;
  const choosing = data.rows.counts_labels && data.score.name === "accuracy"
    ? fromOn(everything.map(([x], i) => [x, course.onChoosing[i] / data.choosing.n_rows]), least) : [];
  const plot = frame({ width, height: Math.min(400, 200 + width * 0.28),
    x: costAxis(axis, [mine, best]),
    y: scoreAxis(data, [...[mine, best, choosing].flat().map(([, y]) => y), whole,
      ...(tolerance <= 0.1 ? [allowed] : [])]),
    label: `${data.score.label} against cost: the current method, and the best of all methods` });
  level(plot, whole, "level", "full ensemble");
  level(plot, allowed, "allowed");
  line(plot, best, "front");
  if (choosing.length > 1) line(plot, choosing, "c0", "6 4");
  if (course.order && mine.length > 1) line(plot, mine, "c0 strong");
  else points(plot, mine, "c0 solid");
  upright(plot, current[0], "upright c0");
  dot(plot, ...current, "c0", 7);
  const series = [{ label: course.label, points: mine, style: "c0" },
    { label: "best of all methods", points: fromOn(front, least), style: "ink" }];
  if (choosing.length) series.push({ label: "validation set", points: choosing, style: "c0" });
  return [plot.root, readLines(plot, series.filter((one) => one.points.length),
    { title: costTitle(axis), text: scoreText, start: current[0] })];
}

/** Return the corners of a step line: the best score up to each cost. */
function stairs(front) {
  return front.flatMap(([cost, accuracy], i) =>
    i ? [[cost, front[i - 1][1]], [cost, accuracy]] : [[cost, accuracy]]);
}

/** Return a table of about 24 sizes of a course, including the current size. */
function whatIfTable(data, course, index) {
  const step = Math.ceil(course.sizes.length / 24);
  const shown = course.sizes.map((_, i) => i).filter((i) => i % step === 0 || i === index);
  const cells = (tag, values) => values.map((value, i) =>
    html(i ? tag : "th", { class: "number" }, value));
  const rows = shown.map((i) => html("tr", {}, ...cells("td", [
    course.sizes[i].toLocaleString("en"),
    scoreText(course.values[i]),
    (course.onChoosing[i] / data.choosing.n_rows).toFixed(4),
  ])));
  const labels = data.rows.counts_labels ? "" : ", counting labels";
  const head = html("tr", {}, ...cells("th", ["members", `${data.score.label}, held-out samples`,
    `accuracy, validation set${labels}`]));
  return html("table", {}, html("thead", {}, head), html("tbody", {}, ...rows));
}

/** The section: controls, figures, plot and command. Its state is also in the page's address. */
class WhatIf {
  constructor(data, courses, onCost) {
    this.data = data;
    this.courses = courses;
    this.onCost = onCost;
    this.grid = data.weights ? data.weights.grid : [];
    const own = data.courses[data.chosen.course];
    this.state = { method: own.live ? LIVE : own.label, keep: data.chosen.keep,
      lambda: own.live ? own.weight : this.grid[nearest(this.grid, 0.5)], cost: "members",
      tolerance: 0.005 };
    byId("method").append(...courses.methods.map((name) =>
      html("option", { value: name }, name === LIVE ? "comep, any λ" : name)));
    byId("weight").max = Math.max(0, this.grid.length - 1);
    this.listen();
    this.read();
    byId("what-if-tool").hidden = false;
    addEventListener("hashchange", () => this.read() && this.update());
    this.update(false);
  }

  listen() {
    const on = (id, kind, act) => byId(id).addEventListener(kind, (event) => {
      act(event.target);
      this.update();
    });
    on("method", "change", (input) => { this.state.method = input.value; });
    on("keep", "input", (input) => { this.state.keep = this.course.sizes[input.value]; });
    on("weight", "input", (input) => { this.state.lambda = this.grid[input.value]; });
    on("cost", "change", (input) => { this.state.cost = input.value; });
    on("tolerance", "input", (input) => {
      if (input.checkValidity() && input.value !== "") this.state.tolerance = Number(input.value);
    });
    on("smallest", "click", () => {
      const index = smallestWithin(this.data, this.course, this.state.tolerance);
      if (index >= 0) this.state.keep = this.course.sizes[index];
    });
    byId("what-if-numbers").addEventListener("toggle", () => this.update(false));
    byId("tool-form").addEventListener("submit", (event) => event.preventDefault());
    byId("copy").addEventListener("click", () => this.copy());
  }

  get course() {
    return this.courses.get(this.state.method, this.state.lambda);
  }

  /** Read the state from the address; ignore invalid values. */
  read() {
    const fragment = new URLSearchParams(location.hash.slice(1));
    if (!fragment.has("method")) return false;
    const { state } = this;
    if (this.courses.methods.includes(fragment.get("method"))) state.method = fragment.get("method");
    const [lambda, keep, tolerance] = ["lambda", "keep", "tolerance"].map((name) =>
      fragment.has(name) ? Number(fragment.get(name)) : NaN);
    if (this.grid.includes(lambda)) state.lambda = lambda;
    if (keep >= 1) state.keep = Math.round(keep);
    if (tolerance >= 0 && tolerance <= 1) state.tolerance = tolerance;
    const axes = [...byId("cost").options].map((option) => option.value);
    if (axes.includes(fragment.get("cost"))) state.cost = fragment.get("cost");
    return true;
  }

  update(write = true) {
    const started = performance.now();
    const { data, state, course } = this;
    const index = nearest(course.sizes, state.keep);
    this.show(course, index);
    byId("plot-what-if").replaceChildren(
      ...drawWhatIf(data, this.courses, course, index, state, plotWidth()));
    if (write) this.write();
    if (this.drawnCost !== state.cost) this.onCost((this.drawnCost = state.cost));
    this.milliseconds = performance.now() - started;
  }

  /** Write the state to the address after a delay, because browsers limit how often it changes. */
  write() {
    clearTimeout(this.writing);
    const fragment = `#${new URLSearchParams(this.state)}`;
    this.writing = setTimeout(() => history.replaceState(null, "", fragment), 150);
  }

  show(course, index) {
    const { data, state } = this;
    const size = course.sizes[index];
    const set = (id, values) => Object.assign(byId(id), values);
    set("method", { value: state.method });
    set("keep", { max: course.sizes.length - 1, value: index });
    set("weight", { value: this.grid.indexOf(state.lambda), disabled: state.method !== LIVE });
    set("cost", { value: state.cost });
    if (document.activeElement !== byId("tolerance")) set("tolerance", { value: state.tolerance });
    const weight = state.method === LIVE ? String(state.lambda) : "–";
    byId("keep").setAttribute("aria-valuetext", counted(size, "member"));
    byId("weight").setAttribute("aria-valuetext", weight);
    set("keep-shown", { textContent: size.toLocaleString("en") });
    set("weight-shown", { textContent: weight });
    const figures = figuresOf(data, course, index);
    byId("figures").replaceChildren(...figures.map(([name, value], i) =>
      html("div", i ? {} : { class: "first" }, html("dt", {}, name), html("dd", {}, value))));
    const [command, python] = commandsOf(data, course, size);
    showCommand(byId("command"), command);
    showCommand(byId("python"), python);
    this.showSmallest(course);
    if (byId("what-if-numbers").open) this.showNumbers(course, index);
  }

  showSmallest(course) {
    const { data, state } = this;
    const index = smallestWithin(data, course, state.tolerance);
    const button = byId("smallest");
    button.disabled = index < 0;
    button.textContent = index < 0 ? "No size is within tolerance"
      : `Smallest within tolerance: ${course.sizes[index].toLocaleString("en")}`;
  }

  showNumbers(course, index) {
    const names = membersOf(course, index).map((member) => this.data.ensemble.names[member]);
    byId("what-if-members").textContent = names.join(", ");
    byId("what-if-table").replaceChildren(whatIfTable(this.data, course, index));
  }

  async copy() {
    const button = byId("copy");
    try {
      await navigator.clipboard.writeText(byId("command").textContent);
      button.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(byId("command"));
      button.textContent = "Selected: press Ctrl+C";
    }
    setTimeout(() => { button.textContent = "Copy"; }, 2000);
  }
}
