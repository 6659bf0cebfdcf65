// Plots drawn by uPlot: they follow the theme and the width, and their points can be chosen with pointer and keyboard.

const plots = [];
const kLeastDrag = 6;  // Pixels: less is a click.
const kDoubleClick = 300;  // Milliseconds in which a second click may follow.

function removePlots() {
  for (const plot of plots.splice(0)) plot.uplot?.destroy();
}

const kTimeSteps = [15, 30, 60, 120, 300, 600, 1800, 3600, 7200, 14400, 43200, 86400];

/** Round numbers in [low, high], at most about `most`. */
function ticks(low, high, most, inSeconds) {
  const rough = (high - low) / most;
  const unit = 10 ** Math.floor(Math.log10(rough));
  const steps = inSeconds && rough > 10 ? kTimeSteps : [1, 2, 5, 10].map(one => one * unit);
  const last = steps[steps.length - 1];
  const step = steps.find(one => one >= rough) ?? last * Math.ceil(rough / last);
  const found = [];
  for (let n = Math.ceil(low / step - 1e-9); n * step <= high * (1 + 1e-9); ++n)
    found.push(Number((n * step).toPrecision(6)));
  return found;
}

/** The same for a logarithmic axis: the finest row of digits that has room. */
function logarithmicTicks(low, high, most) {
  for (const digits of [[1, 1.5, 2, 2.5, 3, 4, 5, 6, 8], [1, 1.5, 2, 3, 5, 7], [1, 2, 3, 5], [1, 2, 5], [1, 3], [1]]) {
    const found = [];
    for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); ++power)
      found.push(...digits.map(digit => Number(`${digit}e${power}`)).filter(tick => tick >= low && tick <= high));
    if (found.length <= most) return found.length > 1 ? found : ticks(low, high, most);
  }
  return ticks(low, high, most).filter((_, i) => i % 2 === 0);
}

/** The range of positive values with some room, for a logarithmic axis. */
function roomy(values, further = []) {
  const known = [...values.filter(one => one > 0), ...further];
  if (known.length === 0) return [0.1, 1];
  let low = Infinity, high = 0;
  for (const one of known) {
    low = Math.min(low, one);
    high = Math.max(high, one);
  }
  const room = Math.max(1.04, (high / low) ** 0.06);
  return [low / room, high * room];
}

/** "90 s" as "1:30 min", for ticks. */
function tickDuration(seconds) {
  if (seconds < 60) return `${Number(seconds.toPrecision(3))} s`;
  const two = number => String(Math.round(number)).padStart(2, "0");
  if (seconds < 3600) return `${Math.floor(seconds / 60)}:${two(seconds % 60)} min`;
  return `${Math.floor(seconds / 3600)}:${two((seconds % 3600) / 60)} h`;
}

const plainNumber = value => Number(value.toPrecision(4)).toString();

function axis(side, label, format, density = 60) {
  return {
    side,
    label,
    labelSize: 22,
    labelFont: "12px system-ui, sans-serif",
    font: "12px system-ui, sans-serif",
    stroke: colour("ink-soft"),
    grid: {stroke: colour("grid"), width: 1},
    ticks: {show: false},
    gap: 6,
    size: side === 2 ? 34 : 56,
    splits: (u, index, low, high) => {
      const length = (side === 2 ? u.bbox.width : u.bbox.height) / devicePixelRatio;
      const most = Math.max(2, Math.floor(length / density));
      const scale = u.scales[u.axes[index].scale];
      return scale.distr === 3 ? logarithmicTicks(low, high, most) : ticks(low, high, most, format === tickDuration);
    },
    filter: (u, splits) => splits,
    values: (u, splits) => splits.map(one => (one === null ? "" : format(one))),
  };
}

const logScale = (low, high) => ({distr: 3, range: [low, high], time: false});
const linearScale = (low, high) => ({distr: 1, range: [low, high], time: false});

/**
 * A plot in a figure. `spec`:
 * - title, summary: for the caption and for people who do not see it
 * - legend: [colour name, text, kind ("line", "dash", "dot", "band")]
 * - height: of the canvas
 * - build(): {options, data} of uPlot, without size
 * - points(): {x, y, row, label} of what can be chosen, or nothing
 * - choose(row): called for a chosen point
 * - numbers: [name, make] of its table
 * - zooms: the directions in which it can be zoomed; "xy" by default
 * - zoomed(zoom): called when the viewer has changed what is shown
 */
class Plot {
  constructor(figure, spec) {
    this.figure = figure;
    this.spec = spec;
    this.zooms = spec.zooms ?? "xy";
    const name = `${figure.id} ${spec.title}`;
    this.zoom = view.zooms.get(name) ?? {};  // Of each direction: [low, high] in the plot's units, or nothing: all.
    view.zooms.set(name, this.zoom);
    this.canvas = el("div", {class: "canvas", role: "img", "aria-label": `${spec.title}. ${spec.summary}`, "data-key": spec.title});
    this.whole = el("button", {type: "button", class: "action whole", hidden: true, onclick: () => this.zoomTo({})}, "Whole plot");
    if (spec.points) {
      this.canvas.setAttribute("role", "application");
      this.canvas.setAttribute("tabindex", "0");
      this.canvas.setAttribute("aria-roledescription",
        "plot, arrow keys move from point to point, Enter opens one, plus and minus zoom, 0 shows all");
      this.canvas.addEventListener("keydown", event => this.key(event));
      this.canvas.addEventListener("blur", () => hideTip());
    }
    figure.append(el("figcaption", {}, el("b", {}, spec.title),
      el("span", {class: "legend"}, (spec.legend ?? []).map(([name, text, kind]) =>
        el("span", {}, el("i", {class: `key ${kind}`, style: `--key: var(--${name})`}), text))), this.whole));
    figure.append(this.canvas);
    if (spec.numbers) figure.append(numbersOf(...spec.numbers));
    plots.push(this);
    this.draw();
  }

  draw(width = this.canvas.clientWidth) {
    if (width < 50) return;
    this.width = width;
    this.uplot?.destroy();
    const {options, data} = this.spec.build();
    const all = {
      width,
      height: this.spec.height ?? (width < 480 ? 240 : 300),
      legend: {show: false},
      padding: [10, 24, 0, 0],
      ...options,
      cursor: {drag: {x: this.zooms.includes("x"), y: this.zooms.includes("y"), setScale: false, dist: kLeastDrag},
        points: {show: false}, x: false, y: false, bind: {dblclick: () => null}},
      scales: this.scales(options.scales),
      hooks: {...options.hooks, setSelect: [u => this.selected(u)]},
    };
    this.uplot = new uPlot(all, data, this.canvas);
    this.points = this.spec.points ? this.spec.points() : [];
    this.whole.hidden = Object.keys(this.zoom).length === 0;
    this.figure.dataset.points = data.slice(1).reduce((sum, series) =>
      sum + series.reduce((count, one) => count + (one === null || one === undefined ? 0 : 1), 0), 0);
    const {over} = this.uplot;
    over.addEventListener("mousedown", event => {
      this.pressed = [event.clientX, event.clientY];
    });
    over.addEventListener("dblclick", () => {
      clearTimeout(this.choosing);
      this.zoomTo({});
    });
    if (this.spec.points) {
      over.addEventListener("mousemove", event => this.hover(event));
      over.addEventListener("mouseleave", () => hideTip());
      over.addEventListener("click", event => this.click(event));
    }
  }

  // --- zoom

  /** The scales of the plot, narrowed to what the viewer has chosen. */
  scales(scales) {
    this.ranges = Object.fromEntries(Object.entries(scales).map(([name, scale]) => [name, scale.range]));
    return Object.fromEntries(Object.entries(scales).map(([name, scale]) =>
      [name, {...scale, range: this.zoom[name] ?? scale.range}]));
  }

  /** The rectangle that was drawn with the pointer becomes the whole plot. */
  selected(u) {
    const {left, top, width, height} = u.select;
    const zoom = {...this.zoom};
    if (this.zooms.includes("x") && width >= kLeastDrag) zoom.x = [u.posToVal(left, "x"), u.posToVal(left + width, "x")];
    if (this.zooms.includes("y") && height >= kLeastDrag && height < u.over.clientHeight)
      zoom.y = [u.posToVal(top + height, "y"), u.posToVal(top, "y")];
    // uPlot still works on the pointer's release.
    setTimeout(() => this.zoomTo(zoom));
  }

  zoomTo(zoom) {
    for (const name of ["x", "y"]) delete this.zoom[name];
    Object.assign(this.zoom, zoom);
    hideTip();
    this.draw();
    this.spec.zoomed?.(this.zoom);
  }

  /** Whether a point is within what is shown. */
  holds(point) {
    return Object.entries(this.zoom).every(([name, [low, high]]) => point[name] >= low && point[name] <= high);
  }

  /** Nearer to the point where the viewer is, or to the middle; farther with a factor above 1. */
  zoomBy(factor) {
    const zoom = {};
    for (const name of this.zooms) {
      const logarithmic = this.uplot.scales[name].distr === 3;
      const [to, from] = logarithmic ? [Math.log, Math.exp] : [value => value, value => value];
      const [least, most] = this.ranges[name].map(to), [low, high] = (this.zoom[name] ?? this.ranges[name]).map(to);
      const current = this.points[this.current];
      const middle = current ? to(current[name]) : (low + high) / 2;
      const half = (high - low) / 2 * factor;
      if (2 * half < most - least) zoom[name] = [Math.max(least, middle - half), Math.min(most, middle + half)].map(from);
    }
    this.zoomTo(zoom);
    if (this.points[this.current]) this.tip(this.points[this.current]);
  }

  /** The point nearest to a place of the plot, within reach of a finger. */
  nearest(left, top, reach = 24) {
    let found = null, least = reach * reach;
    for (const point of this.points) {
      const x = this.uplot.valToPos(point.x, "x") - left, y = this.uplot.valToPos(point.y, point.scale ?? "y") - top;
      if (x * x + y * y < least) {
        least = x * x + y * y;
        found = point;
      }
    }
    return found;
  }

  hover(event) {
    const point = this.nearest(event.offsetX, event.offsetY);
    this.uplot.over.style.cursor = point && this.spec.choose ? "pointer" : "";
    if (point) this.tip(point);
    else hideTip();
  }

  click(event) {
    const dragged = this.pressed && Math.hypot(event.clientX - this.pressed[0], event.clientY - this.pressed[1]) >= kLeastDrag;
    const point = dragged ? null : this.nearest(event.offsetX, event.offsetY);
    if (!point || !this.spec.choose || event.detail > 1) return;
    // A second click may follow that shows the whole plot.
    if (Object.keys(this.zoom).length === 0) this.spec.choose(point.row);
    else this.choosing = setTimeout(() => this.spec.choose(point.row), kDoubleClick);
  }

  tip(point) {
    const box = this.uplot.over.getBoundingClientRect();
    showTip(point.label, box.left + this.uplot.valToPos(point.x, "x"),
      box.top + this.uplot.valToPos(point.y, point.scale ?? "y"));
  }

  key(event) {
    if (this.points.length === 0) return;
    const step = {ArrowRight: 1, ArrowLeft: -1}[event.key];
    if (step) {
      let next = this.current === undefined ? 0 : this.current + step;
      while (this.points[next] && !this.holds(this.points[next])) next += step;
      if (this.points[next]) this.current = next;
      if (this.current !== undefined) this.tip(this.points[this.current]);
      event.preventDefault();
    } else if (["+", "=", "-", "0"].includes(event.key)) {
      event.preventDefault();
      if (event.key === "0") this.zoomTo({});
      else this.zoomBy(event.key === "-" ? 2 : 0.5);
    } else if (event.key === "Enter" && this.current !== undefined && this.spec.choose) {
      event.preventDefault();  // Else the same key press would choose what gets the focus: the button that closes.
      this.spec.choose(this.points[this.current].row);
    }
  }
}

function showTip(text, left, top) {
  const tip = at("tip");
  tip.textContent = text;
  tip.hidden = false;
  const width = tip.offsetWidth;
  tip.style.left = `${Math.max(4, Math.min(left - width / 2, document.documentElement.clientWidth - width - 4))}px`;
  tip.style.top = `${top > 60 ? top - tip.offsetHeight - 12 : top + 14}px`;
}

function hideTip() {
  at("tip").hidden = true;
}

const redrawPlots = width => plots.forEach(plot => plot.draw(width));

let resizing;
addEventListener("resize", () => {
  clearTimeout(resizing);
  resizing = setTimeout(() => plots.forEach(plot => {
    if (plot.canvas.clientWidth !== plot.width) plot.draw();
  }), 80);
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => redrawPlots());
// Paper is white and narrower than most windows.
addEventListener("beforeprint", () => {
  document.documentElement.classList.add("paper");
  plots.forEach(plot => plot.draw(Math.min(plot.width, 680)));
});
addEventListener("afterprint", () => {
  document.documentElement.classList.remove("paper");
  redrawPlots();
});

/** A line across a plot, with a name: a limit. `value` is on the scale of that name. */
function drawRule(u, scale, value, text, name) {
  const [low, high] = [u.scales[scale].min, u.scales[scale].max];
  if (value < low || value > high) return;
  const place = u.valToPos(value, scale, true);
  const context = u.ctx;
  context.save();
  context.strokeStyle = context.fillStyle = colour(name);
  context.lineWidth = 1.5 * devicePixelRatio;
  context.setLineDash([6 * devicePixelRatio, 4 * devicePixelRatio]);
  context.beginPath();
  if (scale === "x") {
    context.moveTo(place, u.bbox.top);
    context.lineTo(place, u.bbox.top + u.bbox.height);
  } else {
    context.moveTo(u.bbox.left, place);
    context.lineTo(u.bbox.left + u.bbox.width, place);
  }
  context.stroke();
  context.font = `${12 * devicePixelRatio}px system-ui, sans-serif`;
  const gap = 5 * devicePixelRatio;
  if (scale === "x") {
    context.textAlign = "right";
    context.textBaseline = "top";
    context.fillText(text, place - gap, u.bbox.top + gap);
  } else {
    context.textAlign = "right";
    context.textBaseline = "bottom";
    context.fillText(text, u.bbox.left + u.bbox.width - gap, place - gap);
  }
  context.restore();
}

const dots = (stroke, size, fill = stroke) => ({paths: () => null, points: {show: true, size, fill, stroke, width: 1}});

/** The name of a lane, at its beginning and above its points. */
function drawLaneName(u, lane, text) {
  const context = u.ctx;
  context.save();
  context.font = `${11 * devicePixelRatio}px system-ui, sans-serif`;
  context.textAlign = "left";
  context.textBaseline = "bottom";
  context.lineWidth = 3 * devicePixelRatio;
  context.strokeStyle = colour("page");
  context.fillStyle = colour("ink-soft");
  const place = [u.bbox.left + 4 * devicePixelRatio, u.valToPos(lane + 0.14, "y", true)];
  context.strokeText(text, ...place);
  context.fillText(text, ...place);
  context.restore();
}

/** Lines between points: [[x, y], [x, y]] each, below all that is drawn. */
function drawEdges(u, edges, name) {
  const context = u.ctx;
  context.save();
  context.strokeStyle = colour(name);
  context.lineWidth = devicePixelRatio;
  context.globalAlpha = edges.length > 2000 ? 0.35 : 0.7;
  context.beginPath();
  context.rect(u.bbox.left, u.bbox.top, u.bbox.width, u.bbox.height);
  context.clip();
  context.beginPath();
  for (const [from, to] of edges) {
    context.moveTo(u.valToPos(from[0], "x", true), u.valToPos(from[1], "y", true));
    context.lineTo(u.valToPos(to[0], "x", true), u.valToPos(to[1], "y", true));
  }
  context.stroke();
  context.restore();
}
