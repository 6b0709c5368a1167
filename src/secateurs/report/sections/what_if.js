"use strict";
// "What if?": another method, size or weight, worked out in the page.

const LIVE = "comep"; // the method whose choice the page makes itself

function signed(value) {
  const text = Math.abs(value).toFixed(4);
  return Number(text) === 0 ? text : (value < 0 ? "−" : "+") + text;
}

/** The methods, with votes counted again; `votes` has tables and distances. */
class Courses {
  constructor(data, votes) {
    this.data = data;
    this.votes = votes;
    const { curves } = data.score_size;
    this.all = data.courses.map((course, place) => ({ ...course, values: curves[place].values }));
    this.others = this.all.filter((course) => !course.live);
    this.methods = [...(data.weights ? [LIVE] : []), ...this.others.map((course) => course.label)];
    this.known = new Map();
  }

  get(method, weight) {
    const live = this.data.weights !== null && method === LIVE;
    const key = live ? `${LIVE} ${weight}` : `= ${method}`;
    if (!this.known.has(key)) {
      const facts = live ? this.choose(weight) : this.others.find((one) => one.label === method);
      this.known.set(key, { ...facts, ...this.count(facts) });
    }
    return this.known.get(key);
  }

  choose(weight) {
    const { weights } = this.data;
    const place = weights.grid.indexOf(weight);
    const start = weights.starts[place];
    const order = comepOrder(this.votes.distances, this.votes.relevance, weight, start);
    const right = weights.held_out[place];
    return { label: LIVE, method: LIVE, weight, options: `--diversity-weight ${weight}`, order, sizes: weights.sizes, held_out: { right },
      values: weights.values ? weights.values[place]
        : right.map((count) => count / this.data.whole.n_rows),
      held_out_labels: weights.held_out_labels[place] };
  }

  /** Count the rows that are right at each size, on the rows chosen on and on those tested on. */
  count(course) {
    const right = (table) => {
      if (!table) return null;
      const bySize = course.order && rightBySize(table, course.order);
      return course.sizes.map((size, place) => {
        const weights = course.weights && course.weights[place];
        if (weights) return rightByWeights(table, membersOf(course, place), weights);
        return bySize ? bySize[size - 1] : rightBySize(table, course.sets[place]).at(-1);
      });
    };
    return { onChoosing: right(this.votes.choosing), onTesting: right(this.votes.testing) };
  }
}

function membersOf(course, place) {
  return course.order ? course.order.slice(0, course.sizes[place]) : course.sets[place];
}

/** Return the place of the size nearest to the one wanted. */
function nearest(sizes, wanted) {
  const away = sizes.map((size) => Math.abs(size - wanted));
  return away.indexOf(Math.min(...away));
}

/** Return the place of the smallest size within a tolerance of all members; -1 if there is none. */
function smallestWithin(data, course, tolerance) {
  const sign = data.score.larger_is_better ? 1 : -1;
  const enough = sign * data.score_size.whole - tolerance - 1e-9;
  return course.values.findIndex((value) => sign * value >= enough);
}

function figuresOf(data, course, place) {
  const { whole, rows, score } = data;
  const members = membersOf(course, place);
  const found = [[`${score.label}, held out`, scoreText(course.values[place])],
    ["against all members", signed(course.values[place] - data.score_size.whole)]];
  const labels = rows.counts_labels ? "" : ", counting labels";
  const accuracy = score.name === "accuracy" ? "" : "accuracy, ";
  if (accuracy) {
    found.push(["accuracy, held out", (course.held_out.right[place] / whole.n_rows).toFixed(4)]);
  }
  if (labels && !accuracy) {
    const byLabels = course.held_out_labels[place] / whole.n_rows;
    found.push([`held out${labels}`, byLabels.toFixed(4)]);
  }
  const onChoosing = course.onChoosing[place] / data.choosing.n_rows;
  found.push([`${accuracy}rows chosen on${labels}`, onChoosing.toFixed(4)]);
  found.push(["members", members.length.toLocaleString("en")]);
  for (const [axis, name] of [["bytes", "megabytes"], ["ms", "ms per row"]]) {
    if (data.costs[axis]) {
      found.push([name, plainNumber(costsBySize(data, members, axis).at(-1))]);
    }
  }
  return found;
}

/** Return the command and the line of Python that make a choice. */
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

function drawWhatIf(data, courses, course, place, state, width) {
  const { cost: axis, tolerance } = state;
  const sign = data.score.larger_is_better ? 1 : -1;
  const flip = (points) => points.map(([x, y]) => [x, sign * y]);
  const everything = coursePoints(data, course, axis);
  const current = everything[place];
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
    label: `${data.score.label} against cost: the current choice, and the best of all methods` });
  level(plot, whole, "level", "all members");
  level(plot, allowed, "allowed");
  line(plot, best, "front");
  if (choosing.length > 1) line(plot, choosing, "c0", "6 4");
  if (course.order && mine.length > 1) line(plot, mine, "c0 strong");
  else points(plot, mine, "c0 solid");
  upright(plot, current[0], "upright c0");
  dot(plot, ...current, "c0", 7);
  const series = [{ label: course.label, points: mine, style: "c0" },
    { label: "best of all methods", points: fromOn(front, least), style: "ink" }];
  if (choosing.length) series.push({ label: "rows chosen on", points: choosing, style: "c0" });
  return [plot.root, readLines(plot, series.filter((one) => one.points.length),
    { title: costTitle(axis), text: scoreText, start: current[0] })];
}

/** Turn a front into stairs: each cost buys the best so far. */
function stairs(front) {
  return front.flatMap(([cost, accuracy], i) =>
    i ? [[cost, front[i - 1][1]], [cost, accuracy]] : [[cost, accuracy]]);
}

/** Some sizes of a course as a table, the current one among them. */
function whatIfTable(data, course, place) {
  const step = Math.ceil(course.sizes.length / 24);
  const shown = course.sizes.map((_, i) => i).filter((i) => i % step === 0 || i === place);
  const cells = (tag, values) => values.map((value, i) =>
    html(i ? tag : "th", { class: "number" }, value));
  const rows = shown.map((i) => html("tr", {}, ...cells("td", [
    course.sizes[i].toLocaleString("en"),
    scoreText(course.values[i]),
    (course.onChoosing[i] / data.choosing.n_rows).toFixed(4),
  ])));
  const labels = data.rows.counts_labels ? "" : ", counting labels";
  const head = html("tr", {}, ...cells("th", ["members", `${data.score.label}, held-out rows`,
    `accuracy, rows chosen on${labels}`]));
  return html("table", {}, html("thead", {}, head), html("tbody", {}, ...rows));
}

/** The section: controls, figures, plot, command, and the state in the address. */
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
      const place = smallestWithin(this.data, this.course, this.state.tolerance);
      if (place >= 0) this.state.keep = this.course.sizes[place];
    });
    byId("what-if-numbers").addEventListener("toggle", () => this.update(false));
    byId("tool-form").addEventListener("submit", (event) => event.preventDefault());
    byId("copy").addEventListener("click", () => this.copy());
  }

  get course() {
    return this.courses.get(this.state.method, this.state.lambda);
  }

  /** Take the state from the address, as far as it is valid. */
  read() {
    const given = new URLSearchParams(location.hash.slice(1));
    if (!given.has("method")) return false;
    const { state } = this;
    if (this.courses.methods.includes(given.get("method"))) state.method = given.get("method");
    const [lambda, keep, tolerance] = ["lambda", "keep", "tolerance"].map((name) =>
      given.has(name) ? Number(given.get(name)) : NaN);
    if (this.grid.includes(lambda)) state.lambda = lambda;
    if (keep >= 1) state.keep = Math.round(keep);
    if (tolerance >= 0 && tolerance <= 1) state.tolerance = tolerance;
    const axes = [...byId("cost").options].map((option) => option.value);
    if (axes.includes(given.get("cost"))) state.cost = given.get("cost");
    return true;
  }

  update(write = true) {
    const started = performance.now();
    const { data, state, course } = this;
    const place = nearest(course.sizes, state.keep);
    this.show(course, place);
    byId("plot-what-if").replaceChildren(
      ...drawWhatIf(data, this.courses, course, place, state, plotWidth()));
    if (write) this.write();
    if (this.drawnCost !== state.cost) this.onCost((this.drawnCost = state.cost));
    this.milliseconds = performance.now() - started;
  }

  /** Put the state into the address, a moment after the last change: browsers limit how often. */
  write() {
    clearTimeout(this.writing);
    const fragment = `#${new URLSearchParams(this.state)}`;
    this.writing = setTimeout(() => history.replaceState(null, "", fragment), 150);
  }

  show(course, place) {
    const { data, state } = this;
    const size = course.sizes[place];
    const set = (id, values) => Object.assign(byId(id), values);
    set("method", { value: state.method });
    set("keep", { max: course.sizes.length - 1, value: place });
    set("weight", { value: this.grid.indexOf(state.lambda), disabled: state.method !== LIVE });
    set("cost", { value: state.cost });
    if (document.activeElement !== byId("tolerance")) set("tolerance", { value: state.tolerance });
    const weight = state.method === LIVE ? String(state.lambda) : "–";
    byId("keep").setAttribute("aria-valuetext", counted(size, "member"));
    byId("weight").setAttribute("aria-valuetext", weight);
    set("keep-shown", { textContent: size.toLocaleString("en") });
    set("weight-shown", { textContent: weight });
    const found = figuresOf(data, course, place);
    byId("figures").replaceChildren(...found.map(([name, value], i) =>
      html("div", i ? {} : { class: "first" }, html("dt", {}, name), html("dd", {}, value))));
    const [command, python] = commandsOf(data, course, size);
    showCommand(byId("command"), command);
    showCommand(byId("python"), python);
    this.showSmallest(course);
    if (byId("what-if-numbers").open) this.showNumbers(course, place);
  }

  showSmallest(course) {
    const { data, state } = this;
    const place = smallestWithin(data, course, state.tolerance);
    const button = byId("smallest");
    button.disabled = place < 0;
    button.textContent = place < 0 ? "No size is within tolerance"
      : `Smallest within tolerance: ${course.sizes[place].toLocaleString("en")}`;
  }

  showNumbers(course, place) {
    const names = membersOf(course, place).map((member) => this.data.ensemble.names[member]);
    byId("what-if-members").textContent = names.join(", ");
    byId("what-if-table").replaceChildren(whatIfTable(this.data, course, place));
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
