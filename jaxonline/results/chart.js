"use strict";

// Curves of learners against rounds; what it calls is in page.js

const DASHES = ["none", "6 3", "2 2.5", "8 3 2 3"];
const PAD = { left: 64, right: 26, top: 28, bottom: 42 };

class Chart {
  constructor(figure) {
    this.data = JSON.parse(figure.querySelector("script").textContent);
    this.promised = new Map(Object.entries(this.data.bounds));
    this.at = 0; // the quantity
    this.shown = this.best(this.data.learners.length > 21 ? 12 : Infinity);
    this.log = { x: this.data.log, y: this.data.log };
    this.bands = true;
    this.bounds = this.data.log || !this.dwarfed();
    this.zoom = null;
    this.cursor = null;
    this.build(figure);
    new ResizeObserver(() => this.draw()).observe(this.plot);
  }

  get quantity() {
    return this.data.quantities[this.at];
  }

  // All learners, or so many with the least last values: more can hardly be told apart
  best(most) {
    const ends = this.data.quantities[0].mean.map((values) => values.at(-1) ?? Infinity);
    const limit = [...ends].sort((a, b) => a - b)[most - 1] ?? Infinity;
    return ends.map((end) => end <= limit);
  }

  // Whether bounds are so far above the curves that these would be one line
  dwarfed() {
    const largest = (lists) => Math.max(...lists.flat().filter((value) => value !== null));
    return largest([...this.promised.values()]) > 3 * largest(this.data.quantities[0].mean);
  }

  build(figure) {
    const box = (words, get, set) =>
      made("label", {}, made("input", {
        type: "checkbox", checked: get(), onchange: (event) => { set(event.target.checked); this.zoom = null; this.draw(); },
      }), words);
    const button = (words, act, title) => made("button", { type: "button", onclick: act, title }, words);
    const choice = made("select", { onchange: (event) => { this.at = Number(event.target.value); this.zoom = null; this.draw(); } },
      ...this.data.quantities.map((each, i) => made("option", { value: i }, each.label)));
    this.plot = made("div", { class: "plot" });
    this.said = made("p", { class: "hidden", "aria-live": "polite" });
    this.legend = made("ul", { class: "legend", "aria-label": "Learners: press to hide or show" });
    this.data.learners.forEach((name, i) => {
      const sample = made("svg", { viewBox: "0 0 30 12", "aria-hidden": "true" },
        made("line", { x1: 0, x2: 30, y1: 6, y2: 6, "stroke-width": 2.5, ...this.look(i) }));
      const toggle = made("button", { type: "button", "aria-pressed": String(this.shown[i]), title: "Double click: this one only" }, sample, name);
      toggle.addEventListener("click", () => this.show((each, j) => (j === i ? !each : each)));
      toggle.addEventListener("dblclick", () => this.show((_, j) => j === i));
      const fade = (on) => this.plot.querySelectorAll("[data-learner]").forEach((each) =>
        each.classList.toggle("faded", on && this.shown[i] && each.dataset.learner !== String(i)));
      toggle.addEventListener("pointerenter", () => fade(true));
      toggle.addEventListener("pointerleave", () => fade(false));
      this.legend.append(made("li", {}, toggle));
    });
    figure.querySelector(".drawing").replaceChildren(
      made("div", { class: "controls" },
        ...(this.data.quantities.length > 1 ? [made("label", {}, "Show ", choice)] : []),
        box("logarithmic rounds", () => this.log.x, (on) => (this.log.x = on)),
        box("logarithmic values", () => this.log.y, (on) => (this.log.y = on)),
        ...(this.quantity.low ? [box("bands", () => this.bands, (on) => (this.bands = on))] : []),
        ...(this.promised.size ? [box("bounds", () => this.bounds, (on) => (this.bounds = on))] : []),
        made("span", {}, button("+", () => this.scale(0.5), "Zoom in"), " ", button("−", () => this.scale(2), "Zoom out"), " ",
          button("Reset", () => { this.zoom = null; this.draw(); }, "The whole picture")),
        ...(this.data.learners.length > 2
          ? [made("span", {}, button("All", () => this.show(() => true), "Show all learners"), " ",
              button("None", () => this.show(() => false), "Hide all learners"))]
          : [])),
      this.plot, this.said, this.legend,
      made("p", { class: "note hint" }, "Drag to zoom, double click for the whole picture; press a learner to hide or show it."));
  }

  show(chosen) {
    this.shown = this.shown.map(chosen);
    [...this.legend.querySelectorAll("button")].forEach((each, i) => each.setAttribute("aria-pressed", this.shown[i]));
    this.draw();
  }

  look(i) {
    return { stroke: `var(--c${i % 7})`, "stroke-dasharray": DASHES[Math.floor(i / 7) % DASHES.length] };
  }

  // What of the numbers is there to be drawn on these axes
  points(values) {
    return this.data.rounds
      .map((x, g) => [x, values[g]])
      .filter(([x, y]) => y !== null && (!this.log.x || x > 0) && (!this.log.y || y > 0));
  }

  extent() {
    const { rounds } = this.data, found = [];
    this.data.learners.forEach((name, i) => {
      if (!this.shown[i]) return;
      for (const part of ["mean", "low", "high"]) {
        if (this.quantity[part] && (part === "mean" || this.bands)) found.push(...this.points(this.quantity[part][i]));
      }
      if (this.at === 0 && this.bounds && this.promised.has(name)) found.push(...this.points(this.promised.get(name)));
    });
    const ys = found.map(([, y]) => y);
    let [low, high] = ys.length ? [Math.min(...ys), Math.max(...ys)] : [this.log.y ? 1 : 0, 10];
    if (low === high) [low, high] = this.log.y ? [low / 2, high * 2] : [low - 1, high + 1];
    else if (this.log.y) [low, high] = [low / 1.1, high * 1.1];
    else [low, high] = [low - 0.03 * (high - low), high + 0.03 * (high - low)];
    const one = rounds.length === 1;
    const first = one ? rounds[0] / 2 : rounds[0], last = one ? rounds[0] * 1.5 : rounds[rounds.length - 1];
    return { x: [first, last], y: [low, high] };
  }

  // Powers of ten, with 2 and 5 times these where there is room; or even steps
  ticks([low, high], log, most) {
    if (log && high / low >= 8) {
      const [from, to] = [Math.floor(Math.log10(low)), Math.ceil(Math.log10(high))];
      for (const [steps, stride] of [[[1, 2, 5], 1], [[1], 1], [[1], 2], [[1], 4]]) {
        const found = [];
        for (let power = from; power <= to; power += stride) found.push(...steps.map((each) => each * 10 ** power));
        const inside = found.filter((each) => each >= low * 0.999 && each <= high * 1.001);
        if (inside.length <= most) return inside;
      }
    }
    const rough = (high - low) / most, power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((each) => each * power).find((each) => each >= rough);
    const found = [];
    for (let n = Math.ceil(low / step - 1e-9); n * step <= high + 1e-9 * step; n++) found.push(n * step);
    return found;
  }

  draw() {
    const width = this.plot.clientWidth;
    if (width < 50) return;
    const height = Math.max(260, Math.min(440, 0.6 * width));
    const range = this.zoom || this.extent();
    const inner = { x: [PAD.left, width - PAD.right], y: [height - PAD.bottom, PAD.top] };
    const along = (axis) => {
      const f = this.log[axis] ? Math.log : (value) => value, [a, b] = range[axis].map(f), [p, q] = inner[axis];
      const back = this.log[axis] ? Math.exp : (value) => value;
      return { to: (value) => p + ((f(value) - a) / (b - a)) * (q - p), from: (at) => back(a + ((at - p) / (q - p)) * (b - a)) };
    };
    const x = along("x"), y = along("y"), name = `clip-${(Chart.count = (Chart.count || 0) + 1)}`;
    this.view = { x, y, width, height, range, inner };
    const svg = made("svg", {
      viewBox: `0 0 ${width} ${height}`, height, tabindex: 0, role: "img",
      "aria-label": `${this.quantity.label} against rounds; arrow keys move through the recorded rounds`,
    });
    svg.append(made("clipPath", { id: name }, made("rect", {
      x: PAD.left, y: PAD.top - 2, width: width - PAD.left - PAD.right + 4, height: height - PAD.top - PAD.bottom + 4,
    })));
    for (const at of this.ticks(range.x, this.log.x, width / 85)) {
      svg.append(made("line", { class: "grid", x1: x.to(at), x2: x.to(at), y1: inner.y[0], y2: inner.y[1] }));
      svg.append(made("text", { x: x.to(at), y: inner.y[0] + 17, "text-anchor": "middle" }, tick(at)));
    }
    for (const at of this.ticks(range.y, this.log.y, height / 45)) {
      svg.append(made("line", { class: "grid", x1: inner.x[0], x2: inner.x[1], y1: y.to(at), y2: y.to(at) }));
      svg.append(made("text", { x: inner.x[0] - 6, y: y.to(at) + 4, "text-anchor": "end" }, tick(at)));
    }
    svg.append(made("path", { class: "axis", fill: "none", d: `M${inner.x[0]} ${inner.y[1]}V${inner.y[0]}H${inner.x[1]}` }));
    svg.append(made("text", { x: (inner.x[0] + inner.x[1]) / 2, y: height - 6, "text-anchor": "middle" }, "round"));
    svg.append(made("text", { x: inner.x[0] - 6, y: 13, "text-anchor": "start" }, this.quantity.label));
    svg.append(this.curves(x, y, name));
    this.cursorLine = made("line", { class: "cursor", y1: inner.y[0], y2: inner.y[1], visibility: "hidden" });
    this.frame = made("rect", { class: "drawn", visibility: "hidden" });
    svg.append(this.cursorLine, this.frame);
    this.tip = made("div", { class: "tip", hidden: true });
    const focused = this.plot.querySelector("svg") === document.activeElement;
    this.plot.replaceChildren(svg, this.tip);
    this.listen(svg);
    if (focused) svg.focus();
  }

  curves(x, y, clip) {
    const group = made("g", { "clip-path": `url(#${clip})` }), path = (points) =>
      points.map(([a, b], g) => `${g ? "L" : "M"}${x.to(a).toFixed(1)} ${y.to(b).toFixed(1)}`).join("");
    const visible = this.data.learners.map((_, i) => i).filter((i) => this.shown[i]);
    for (const i of visible) {
      if (!this.bands || !this.quantity.low) break;
      const low = this.points(this.quantity.low[i]), high = this.points(this.quantity.high[i]);
      if (!low.length || !high.length) continue;
      const d = `${path(high)}${path(low.reverse()).replace("M", "L")}Z`;
      group.append(made("path", { class: "band", "data-learner": i, d, fill: `var(--c${i % 7})`, "fill-opacity": visible.length > 7 ? 0.1 : 0.2 }));
    }
    for (const i of visible) {
      const points = this.points(this.quantity.mean[i]), bound = this.at === 0 && this.bounds && this.promised.get(this.data.learners[i]);
      if (bound) group.append(made("path", { class: "bound", "data-learner": i, d: path(this.points(bound)), stroke: this.look(i).stroke }));
      if (points.length === 1) {
        const [low, high] = ["low", "high"].map((end) => this.bands && this.quantity[end] && this.points(this.quantity[end][i]));
        if (low && low.length && high.length) {
          const at = x.to(points[0][0]);
          group.append(made("line", { x1: at, x2: at, y1: y.to(low[0][1]), y2: y.to(high[0][1]), "stroke-width": 2, stroke: this.look(i).stroke }));
        }
        group.append(made("circle", { cx: x.to(points[0][0]), cy: y.to(points[0][1]), r: 4, fill: this.look(i).stroke }));
      } else group.append(made("path", { class: "curve", "data-learner": i, d: path(points), ...this.look(i) }));
    }
    return group;
  }

  listen(svg) {
    const place = (event) => {
      const box = svg.getBoundingClientRect(), { inner } = this.view;
      const within = (value, [a, b]) => Math.min(Math.max(value, Math.min(a, b)), Math.max(a, b));
      return { x: within(event.clientX - box.left, inner.x), y: within(event.clientY - box.top, inner.y) };
    };
    let from = null;
    svg.addEventListener("pointerdown", (event) => {
      if (event.pointerType === "touch" || event.button !== 0) return;
      from = place(event);
      svg.setPointerCapture(event.pointerId);
    });
    svg.addEventListener("pointermove", (event) => {
      const at = place(event);
      if (from === null) return this.point(this.nearest(this.view.x.from(at.x)));
      const sides = { x: Math.min(from.x, at.x), y: Math.min(from.y, at.y), width: Math.abs(at.x - from.x), height: Math.abs(at.y - from.y) };
      for (const [key, value] of Object.entries(sides)) this.frame.setAttribute(key, value);
      this.frame.setAttribute("visibility", "visible");
    });
    svg.addEventListener("pointerup", (event) => {
      const to = place(event), start = from;
      from = null;
      if (start === null) return;
      this.frame.setAttribute("visibility", "hidden");
      if (Math.abs(to.x - start.x) < 8 || Math.abs(to.y - start.y) < 8) return;
      const { x, y } = this.view, sorted = (a, b) => (a < b ? [a, b] : [b, a]);
      this.zoom = { x: sorted(x.from(start.x), x.from(to.x)), y: sorted(y.from(start.y), y.from(to.y)) };
      this.draw();
    });
    svg.addEventListener("dblclick", () => { this.zoom = null; this.draw(); });
    svg.addEventListener("pointerleave", () => this.point(null));
    svg.addEventListener("blur", () => this.point(null));
    svg.addEventListener("keydown", (event) => {
      const last = this.data.rounds.length - 1, step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (event.key === "Escape") return this.point(null);
      if (!step) return;
      event.preventDefault();
      this.point(Math.max(0, Math.min(last, (this.cursor === null ? (step > 0 ? -1 : last + 1) : this.cursor) + step)), true);
    });
  }

  nearest(round) {
    const distance = (each) => (this.log.x ? Math.abs(Math.log(each / round)) : Math.abs(each - round));
    return this.data.rounds.reduce((best, each, g, all) => (distance(each) < distance(all[best]) ? g : best), 0);
  }

  // Show the numbers of a recorded round beside a line through it
  point(g, aloud = false) {
    this.cursor = g;
    const { x, width, inner } = this.view, at = g === null ? null : x.to(this.data.rounds[g]);
    const outside = g === null || at < inner.x[0] - 1 || at > inner.x[1] + 1;
    this.cursorLine.setAttribute("visibility", outside ? "hidden" : "visible");
    this.tip.hidden = outside;
    if (outside) return;
    this.cursorLine.setAttribute("x1", at);
    this.cursorLine.setAttribute("x2", at);
    const { mean, low, high } = this.quantity, value = (i) => mean[i][g];
    const learners = this.data.learners.map((_, i) => i).filter((i) => this.shown[i] && value(i) !== null);
    learners.sort((i, j) => value(j) - value(i));
    const words = (i) => measured(value(i), low && low[i][g] !== null ? (high[i][g] - low[i][g]) / 2 : null);
    const most = 14, rows = learners.slice(-most).map((i) =>
      made("tr", {}, made("th", {}, made("span", { class: "swatch", style: `background:var(--c${i % 7})` }), this.data.learners[i]),
        made("td", { class: "number" }, words(i))));
    const title = `round ${tick(this.data.rounds[g])}${learners.length > most ? `, the ${most} smallest` : ""}`;
    this.tip.replaceChildren(made("strong", {}, title), made("table", {}, made("tbody", {}, ...rows)));
    const right = at < width / 2;
    this.tip.style.left = right ? `${at + 12}px` : "auto";
    this.tip.style.right = right ? "auto" : `${width - at + 12}px`;
    if (aloud) this.said.textContent = `${title}: ${learners.map((i) => `${this.data.learners[i]} ${words(i)}`).join("; ")}`;
  }

  // Zoom by a factor about the line of the cursor, or the middle
  scale(factor) {
    const range = this.zoom || this.extent(), all = this.extent(), next = {};
    for (const axis of ["x", "y"]) {
      const f = this.log[axis] ? Math.log : (value) => value, back = this.log[axis] ? Math.exp : (value) => value;
      const [a, b] = range[axis].map(f), middle = (a + b) / 2, half = ((b - a) / 2) * factor;
      next[axis] = [back(middle - half), back(middle + half)];
    }
    const whole = next.x[0] <= all.x[0] && next.x[1] >= all.x[1];
    this.zoom = whole ? null : next;
    this.draw();
  }
}
