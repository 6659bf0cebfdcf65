// The roofline of the fastest kernels, and where the cost model spends their time: pipes, stalls, lines of the source.

const kShownLines = 12;
const kStallColours = ["stage-wrong", "stage-timed", "stage-valid", "stage-ran", "stage-illegal", "accent", "stage-duplicate", "ink-soft", "ink"];

/** Rates in flop/s over flop/byte: the roof of the device, and the kernels below it. */
function rooflinePlot() {
  const known = data.floors.filter(floor => floor.flops > 0 && floor.bytes > 0 && floor.peak_flops > 0 && floor.memory_bytes_per_s > 0);
  if (known.length === 0) return;
  const marks = known.flatMap(floor => floor.kernels.map((kernel, rank) => ({
    x: floor.flops / floor.bytes, y: floor.flops / (kernel.latency_us * 1e-6), rank, kernel, floor}))).sort((a, b) => a.x - b.x);
  const {peak_flops: peak, memory_bytes_per_s: rate} = known[0];
  const ridge = peak / rate;
  const xRange = roomy([...marks.map(mark => mark.x), ridge / 4, ridge * 4]);
  const roof = x => Math.min(peak, x * rate);
  const yRange = roomy([...marks.map(mark => mark.y), peak, roof(xRange[0])]);
  const corners = [[xRange[0], roof(xRange[0])], [ridge, peak], [xRange[1], peak]];
  const places = [...corners.map(([x, y]) => ({x, roof: y})), ...marks].sort((a, b) => a.x - b.x);
  new Plot(at("roofline"), {
    title: "Roofline",
    summary: `The device computes at most ${engineering(peak, "flop/s")} and moves at most ${engineering(rate, "B/s")}.`,
    legend: [["ink-soft", "the device's roof", "line"], ["accent", "the fastest kernels", "dot"]],
    height: innerWidth < 480 ? 240 : 300,
    build: () => ({
      options: {
        scales: {x: logScale(...xRange), y: logScale(...yRange)},
        axes: [axis(2, innerWidth < 480 ? "flop/byte" : "arithmetic of the task over its least traffic, flop/byte", plainNumber, 80),
               {...axis(3, "flop/s", value => engineering(value, ""), 34), size: 66}],
        series: [{}, {stroke: colour("ink-soft"), width: 2, spanGaps: true, points: {show: false}}, dots(colour("page"), 10, colour("accent"))],
        hooks: {drawAxes: [u => known.forEach(floor => floor.flops / floor.bytes <= xRange[1] && known.length < 5 &&
          drawRule(u, "x", floor.flops / floor.bytes, floor.shape, "ink-faint"))]},
      },
      data: [places.map(one => one.x), places.map(one => one.roof ?? null), places.map(one => (one.kernel ? one.y : null))],
    }),
    points: () => marks.map(mark => ({x: mark.x, y: mark.y, row: mark.kernel.candidate,
      label: `#${mark.kernel.candidate} at ${mark.floor.shape}: ${engineering(mark.y, "flop/s")}, ${percent(mark.y / roof(mark.x))} of the roof`})),
    choose: showCandidate,
    numbers: ["roofline", () => table([{title: "candidate"}, {title: "shape"}, {title: "flop/byte", number: true}, {title: "flop/s", number: true}, {title: "of the roof", number: true}],
      marks.map(mark => [candidateLink(mark.kernel.candidate), mark.floor.shape, mark.x.toPrecision(3), engineering(mark.y, ""), percent(mark.y / roof(mark.x))]), "Roofline")],
  });
}

/** Shares as a list of bars, the largest first; those below half a percent are left out. */
function shareBars(shares, caption) {
  const shown = Object.entries(shares).filter(([, share]) => share >= 0.005).sort((a, b) => b[1] - a[1]);
  return el("div", {}, el("h4", {}, caption), el("ul", {class: "shares"}, shown.map(([name, share]) => el("li", {}, el("span", {class: "step"}, name),
    el("span", {class: "bar", "aria-hidden": "true"}, el("i", {style: `width: ${Math.min(100, 100 * share)}%`})),
    el("span", {class: "left"}, percent(share))))));
}

function lineTable(launch, stallNames) {
  const colourOf = name => `var(--${kStallColours[stallNames.indexOf(name) % kStallColours.length]})`;
  const most = Math.max(...launch.lines.map(line => line.share));
  const row = line => {
    const stalls = Object.entries(line.stalls).sort((a, b) => b[1] - a[1]);
    return [el("span", {class: "number", title: line.place}, String(line.line)), percent(line.share),
      el("span", {class: "stack line-stack", title: stalls.map(([name, share]) => `${name} ${percent(share)}`).join(", ")},
        stalls.map(([name, share]) => el("i", {style: `width: ${(100 * share) / most}%; --key: ${colourOf(name)}`}))),
      stalls.length > 0 ? stalls[0][0] : "–", el("code", {class: "source-line"}, line.text)];
  };
  const some = (lines, caption) => table([{title: "line", number: true}, {title: "of the warps' time", number: true}, {title: "stalls"}, {title: "mostly"}, {title: "source"}],
    lines.map(row), caption);
  const rest = launch.lines.slice(kShownLines);
  return [some(launch.lines.slice(0, kShownLines), `The dearest lines of ${launch.kernel}`),
    rest.length === 0 ? null : el("details", {class: "more", "data-key": `lines of ${launch.kernel}`}, el("summary", {}, plural(rest.length, "cheaper line")),
      some(rest, `Cheaper lines of ${launch.kernel}`))].filter(one => one);
}

function launchArticle(launch) {
  const stallNames = Object.entries(launch.stalls).sort((a, b) => b[1] - a[1]).map(([name]) => name);
  return el("article", {class: "launch"},
    el("h4", {}, el("code", {}, launch.kernel || "kernel")),
    el("p", {class: "about"}, `${withUnit(launch.latency_us)} modelled: bound by ${launch.bound}. The busiest SM works ${withUnit(launch.sm_us || null)}, ` +
      `L2 needs ${withUnit(launch.l2_us || null)}, memory ${withUnit(launch.memory_us || null)}, the launch ${withUnit(launch.launch_us || null)}. ` +
      `${plural(launch.blocks_per_sm, "block")} on an SM, limited by ${launch.occupancy_limit}: ${percent(launch.occupancy)} of its warps.`),
    el("div", {class: "pair"}, shareBars(launch.stalls, "What warps wait for"), shareBars(launch.busy, "How busy pipes are")),
    launch.lines.length === 0 ? null : [el("h4", {}, "Stalls by source line"),
      el("p", {class: "legend"}, stallNames.filter(name => launch.stalls[name] >= 0.005).map(name =>
        el("span", {}, el("i", {class: "key band", style: `--key: var(--${kStallColours[stallNames.indexOf(name) % kStallColours.length]})`}), name))),
      ...lineTable(launch, stallNames)]);
}

function modelSection() {
  rooflinePlot();
  const {kernels, model, why_none: whyNone} = data.explanations;
  at("model-about").textContent = kernels.length === 0 ? whyNone
    : `The cost model of ${model} on ${kernels.length === 1 ? "the fastest kernel" : `the ${kernels.length} fastest kernels`}, ` +
      "as evo model --explain prints it. A line's share is that of its instructions in the time of all warps.";
  at("explanations").append(...kernels.flatMap(kernel => kernel.shapes.map((shape, i) => el("details", {class: "explained", "data-key": `model ${kernel.candidate} ${shape.shape}`,
    open: i === 0 && kernel === kernels[0]},
    el("summary", {}, `Candidate ${kernel.candidate} at ${shape.shape}: ${withUnit(shape.modelled_us)} modelled`),
    el("p", {}, candidateLink(kernel.candidate, "Its genes and source")),
    shape.launches.map(launchArticle)))));
}
