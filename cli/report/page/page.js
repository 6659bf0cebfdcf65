// The sections in their order, and the start.

const kMostRivals = 4;  // The fastest; more lines would hide each other.

// --- the first screen

function answer(id, question, value, unit, ...notes) {
  return el("div", {class: "answer", id: `answer-${id}`}, el("h2", {}, question),
    el("p", {class: "value"}, value, unit ? el("span", {class: "unit"}, unit) : null),
    notes.flat().filter(note => note).map(note => el("p", {class: "note"}, note)));
}

function fastestAnswer() {
  const floor = data.floors.length === 1 ? data.floors[0] : null;
  const kernel = floor?.kernels.find(one => one.candidate === best.candidate);
  return answer("fastest", "What is fastest", microseconds(best.latency_us), "µs",
    [el("span", {}, candidateLink(best.candidate, `candidate ${best.candidate}`), ` of ${best.genome.family}, ${data.timing}` +
      (best.timings.length > 1 && data.floors.length > 1 ? `, mean of ${data.floors.length} shapes` : "")),
     kernel ? `${percent(kernel.share)} of what the hardware allows` : null,
     best.registers === 0 ? null : `${best.registers} registers, ${best.spill_bytes === 0 ? "no spills" : `${best.spill_bytes} bytes spilled`}`]);
}

/** "1.31× faster", "0.4 % faster" than that latency. */
function faster(latency) {
  const ratio = latency / best.latency_us;
  return `${ratio < 1.095 ? percent(ratio - 1) : times(ratio)} faster`;
}

/** The best against a rival. */
function versus(rival) {
  return rival.latency_us >= best.latency_us ? `${faster(rival.latency_us)} than ${rival.name}`
    : `${times(best.latency_us / rival.latency_us)} slower than ${rival.name}`;
}

function gainAnswer() {
  return answer("gain", "By how much", times(best.first_valid.latency_us / best.latency_us), "",
    ["faster than the first valid kernel",
     `${faster(best.median_valid_us)} than the median valid one`,
     best.rivals ?? (data.rivals.length === 0 ? null : versus(data.rivals[0])),
     best.second_us === null ? null : `${faster(best.second_us)} than the next different one`]);
}

/** The interval of the median; of several shapes the widest. */
function widestTiming() {
  const warm = best.timings.filter(one => !one.cold && one.low_us !== null);
  return warm.sort((a, b) => (b.high_us - b.low_us) / b.median_us - (a.high_us - a.low_us) / a.median_us)[0] ?? null;
}

function sureAnswer() {
  const bests = data.runs.map(run => run.best_us).filter(one => one !== null);
  const near = bests.filter(one => one <= best.latency_us * 1.05).length;
  const runs = data.runs.length === 1 ? "one run: other seeds may find others"
    : `${near} of ${data.runs.length} runs came within 5 % of it`;
  const comparison = best.comparison ? best.comparison : null;
  const disputed = best.timed_faster === null ? null : el("span", {}, candidateLink(best.timed_faster.candidate),
    ` was timed at ${withUnit(best.timed_faster.latency_us)}, but is no elite` +
    (best.timed_faster.comparison ? `: ${best.timed_faster.comparison}` : ""));
  if (modelled)
    return answer("sure", "How sure", "modelled", "", ["computed by the cost model: exact for the model, not timed on a GPU", runs, comparison, disputed]);
  const timing = widestTiming();
  const half = timing ? (timing.high_us - timing.low_us) / 2 / timing.median_us : null;
  const disturbed = best.timings.some(one => one.other_processes > 0) ? "other processes used the GPU meanwhile" : null;
  return answer("sure", "How sure", half === null ? "–" : `±${percent(half)}`, "",
    [timing ? `95 % interval of the median: ${microseconds(timing.low_us)} to ${microseconds(timing.high_us)} µs` : null, runs, disturbed, comparison, disputed]);
}

function rightAnswer() {
  const limit = data.limits.find(one => one.relative_l2 !== null)?.relative_l2 ?? null;
  const emulated = data.limits.find(one => one.emulation)?.emulation;
  const exact = data.limits.length > 0 && data.limits.every(one => one.exact);
  const test = best.selftest;
  return answer("right", "How right", exact ? "exact" : errorText(best.relative_l2), "",
    [exact ? "every element equals the reference" : limit !== null ? `largest relative error; ${errorText(limit)} is allowed`
      : emulated ? `largest relative error; allowed: ${emulated.times}× an honest kernel's` : "largest relative error",
     limit === null || exact ? null : el("span", {class: "meter", "aria-hidden": "true"},
       el("i", {style: `width: ${Math.min(100, (100 * best.relative_l2) / limit)}%`})),
     `${plural(best.cases, "case")}: ${plural(best.shapes.length, "shape")}, ${plural(best.regimes.length, "kind")} of inputs`,
     best.reservation === "" ? null : best.reservation,
     data.task.self_consistent ? "self-consistent only: the task has no reference"
       : test === null ? "no self-test of this task in the database"
         : test.passed ? `self-test passed: ${test.judged} planted faults and controls` : `self-test failed: ${test.wrong} of ${test.judged} verdicts wrong`]);
}

function answers() {
  at("title").textContent = `${data.task.name} on ${data.device.name}`;
  const evaluated = data.runs.reduce((sum, run) => sum + run.evaluated, 0);
  at("subject").append(
    el("span", {class: `tag ${data.timing}`}, data.timing), ` ${data.objective} · ${plural(data.runs.length, "run")} · `,
    `${plural(evaluated, "candidate")}`, ...(data.index ? [" · ", el("a", {href: data.index}, "all runs")] : []));
  at("made").textContent = `Made by evo ${data.evo}.${data.live ? "" : " The page needs no network."}`;
  if (best === null) {
    at("answers").append(el("p", {class: "answer"},
      data.live?.running ? "No candidate is valid yet. " : "No candidate was valid. ",
      el("a", {href: "#candidates"}, "Why they were rejected")));
    return;
  }
  at("answers").append(fastestAnswer(), gainAnswer(), sureAnswer(), rightAnswer());
}

// --- best so far

function bestPlot(id, curves, title, label, format) {
  const several = data.runs.length > 1;
  const known = [...curves.least, ...curves.largest, ...curves.runs.flat()].filter(one => one !== null);
  const rivals = data.rivals.slice(0, kMostRivals);
  const end = curves.at[curves.at.length - 1] ?? 1;
  const stepped = uPlot.paths.stepped({align: 1});
  new Plot(at(id), {
    title,
    summary: best === null ? "No candidate was valid." : `It ends at ${withUnit(best.latency_us)}.`,
    legend: [...(several ? [["accent", "median", "line"], ["accent-band", "least to largest", "band"], ["ink-faint", "each run", "line"]]
      : [["accent", `run ${data.runs[0].id}`, "line"]]),
      ...(rivals.length > 0 ? [["stage-ran", "rivals", "dash"]] : [])],
    build: () => ({
      options: {
        scales: {x: linearScale(0, end * 1.01 || 1), y: logScale(...roomy(known, rivals.map(one => one.latency_us)))},
        axes: [axis(2, label, format, 80), axis(3, "best latency, µs", plainNumber, 34)],
        series: several
          ? [{}, {stroke: "transparent", paths: stepped, points: {show: false}},
             {stroke: "transparent", paths: stepped, points: {show: false}},
             ...curves.runs.map(() => ({stroke: colour("ink-faint"), width: 1, paths: stepped, points: {show: false}})),
             {stroke: colour("accent"), width: 2.5, paths: stepped, points: {show: false}}]
          : [{}, {stroke: colour("accent"), width: 2.5, paths: stepped, points: {show: false}}],
        bands: several ? [{series: [2, 1], fill: colour("accent-band")}] : [],
        hooks: {draw: [u => rivals.forEach(one => drawRule(u, "y", one.latency_us, one.name, "stage-ran"))]},
      },
      data: several ? [curves.at, curves.least, curves.largest, ...curves.runs, curves.median] : [curves.at, curves.runs[0]],
    }),
    points: () => curves.at.flatMap((place, i) => {
      const value = several ? curves.median[i] : curves.runs[0][i];
      return value === null ? [] : [{x: place, y: value, row: i, label: `${format(place)}: ${withUnit(value)}`}];
    }),
    numbers: [title.toLowerCase(), () => table(
      [{title: label, number: true}, ...(several ? [{title: "median, µs", number: true}, {title: "least", number: true}, {title: "largest", number: true}] : []),
       ...data.runs.map(run => ({title: `run ${run.id}`, number: true}))],
      curves.at.map((place, i) => [format(place), ...(several ? [curves.median, curves.least, curves.largest].map(one => microseconds(one[i])) : []),
        ...curves.runs.map(run => microseconds(run[i]))]), title)],
  });
}

// --- latency over error

function frontSection() {
  const figure = at("front-plot");
  const rows = [...candidates.id.keys()].filter(row => candidates.latency_us[row] !== null && candidates.relative_l2[row] > 0);
  if (rows.length === 0) {
    figure.append(el("p", {}, best === null ? "No candidate was valid." : "Every valid kernel is exact."));
    figure.dataset.points = 0;
    return;
  }
  rows.sort((a, b) => candidates.relative_l2[a] - candidates.relative_l2[b] || candidates.latency_us[a] - candidates.latency_us[b]);
  const front = new Set();
  let least = Infinity;
  for (const row of rows) {
    if (candidates.latency_us[row] >= least) continue;
    least = candidates.latency_us[row];
    front.add(row);
  }
  // Kernels and rivals together, by their errors.
  const marks = [...rows.map(row => ({error: candidates.relative_l2[row], us: candidates.latency_us[row], row})),
    ...data.rivals.map(rival => ({error: rival.error, us: rival.latency_us, rival}))].sort((a, b) => a.error - b.error);
  const errors = marks.map(mark => mark.error);
  const latencies = marks.map(mark => mark.us);
  const kept = new Set(data.front);
  const limit = data.limits.find(one => one.relative_l2 !== null)?.relative_l2 ?? null;
  const xRange = roomy(errors, limit === null ? [] : [limit]);
  new Plot(figure, {
    title: "Latency over error",
    summary: `${plural(front.size, "kernel")} on the front, ${rows.length - front.size} others.`,
    legend: [["stage-wrong", "the front", "line"], ["stage-valid", "other valid kernels", "dot"],
             ...(kept.size > 0 ? [["ink", "kept by --pareto error", "ring"]] : []),
             ...(data.rivals.length > 0 ? [["stage-ran", "rivals", "dot"]] : []),
             ...(limit === null ? [] : [["ink-soft", "limit", "dash"]])],
    height: innerWidth < 480 ? 260 : 340,
    build: () => ({
      options: {
        scales: {x: logScale(...xRange), y: logScale(...roomy(latencies))},
        axes: [axis(2, "largest relative error (L2)", value => (value < 1e-3 ? value.toExponential(0) : String(value)), 90),
               axis(3, "latency, µs", plainNumber, 34)],
        series: [{}, dots(colour("stage-valid"), rows.length > 2000 ? 4 : 6),
                 {stroke: colour("stage-wrong"), width: 2, spanGaps: true, paths: uPlot.paths.stepped({align: 1}),
                  points: {show: true, size: 8, fill: colour("stage-wrong"), stroke: colour("page"), width: 1}},
                 dots(colour("page"), 11, colour("stage-ran")), dots(colour("ink"), 14, "transparent")],
        hooks: {draw: [u => limit !== null && drawRule(u, "x", limit, "limit", "ink-soft")]},
      },
      data: [errors, ...[mark => mark.row !== undefined && !front.has(mark.row), mark => front.has(mark.row), mark => mark.rival,
                         mark => kept.has(candidates.id[mark.row])]
        .map(shown => marks.map(mark => (shown(mark) ? mark.us : null)))],
    }),
    points: () => marks.map(mark => ({x: mark.error, y: mark.us, row: mark.row,
      label: `${mark.rival ? mark.rival.name : `#${candidates.id[mark.row]}`}  ${withUnit(mark.us)}, error ${errorText(mark.error)}`})),
    choose: row => row !== undefined && showCandidate(candidates.id[row]),
    numbers: ["the front", () => table([{title: "candidate or rival"}, {title: "latency, µs", number: true}, {title: "error", number: true}, {title: "family"}],
      marks.filter(mark => mark.rival || front.has(mark.row)).map(mark => [mark.rival ? mark.rival.name : candidateLink(candidates.id[mark.row]),
        microseconds(mark.us), errorText(mark.error), mark.rival ? "–" : data.genomes[candidates.family[mark.row]].family]),
      "Kernels on the front, and rivals")],
  });
  if (kept.size > 0)
    figure.append(table([{title: "kept by --pareto error"}, {title: "latency, µs", number: true}, {title: "error", number: true}, {title: "family"}],
      data.front.filter(id => rowOf.has(id)).map(id => rowOf.get(id)).map(row => [candidateLink(candidates.id[row]), microseconds(candidates.latency_us[row]),
        errorText(candidates.relative_l2[row]), kFigures.family(row)]), "The front that the runs keep"));
}

// --- share of the floor

const engineering = (value, unit) => {
  const [scale, prefix] = [[1e15, "P"], [1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"], [0, ""]].find(([least]) => value >= least);
  return `${(value / (scale || 1)).toPrecision(3)} ${prefix}${unit}`;
};

function floorSection() {
  const holder = at("floors");
  holder.dataset.points = data.floors.reduce((sum, floor) => sum + floor.kernels.length, 0);
  if (data.floors.length === 0) {
    holder.append(el("p", {}, best === null ? "No candidate was valid." : `The peak rates of ${data.device.name} are not known.`));
    return;
  }
  const bar = (share, kind) => el("span", {class: `bar ${kind}`, "aria-hidden": "true"}, el("i", {style: `width: ${Math.min(100, 100 * share)}%`}));
  holder.append(...data.floors.map(floor => el("article", {class: "floor"},
    el("h3", {}, floor.shape),
    el("p", {class: "about"}, `At least ${withUnit(floor.floor_us)}, bound by ${floor.bound}: ${engineering(floor.flops, "flop")} take ` +
      `${withUnit(floor.arithmetic_us || null)}, ${engineering(floor.bytes, "B")} take ` +
      `${floor.memory_us > 0 ? withUnit(floor.memory_us) : "none, they fit in L2"}, a launch ${withUnit(floor.launch_us || null)}.`),
    el("ul", {class: "shares"}, floor.kernels.flatMap(kernel => [
      el("li", {}, el("span", {class: "step"}, candidateLink(kernel.candidate)), bar(kernel.share, ""),
        el("span", {class: "left"}, percent(kernel.share)), el("span", {class: "lost"}, `${withUnit(kernel.latency_us)} ${data.timing}`)),
      kernel.counted ? el("li", {}, el("span", {class: "step"}, kernel.counted.timing === "modelled" ? "modelled counters" : "counted"),
        bar(kernel.counted.share, "counted"), el("span", {class: "left"}, percent(kernel.counted.share)),
        el("span", {class: "lost"}, `${withUnit(kernel.counted.duration_us)} in its launches` +
          `${kernel.counted.bound ? `; ${kernel.counted.bound}` : ""}`)) : null]).filter(one => one)))));
}

// --- predicted and measured

function predictionSection() {
  const {predicted_us: predicted, measured_us: measured, candidate} = data.predictions;
  const figure = at("prediction-plot");
  figure.dataset.points = candidate.length;
  if (candidate.length === 0) {
    at("prediction-about").textContent = data.predictions.why_none;
    return;
  }
  const correlation = data.predictions.rank_correlation;
  at("prediction-about").textContent = `The cost model of ${data.predictions.model} over the GPU, for ${plural(candidate.length, "kernel")} ` +
    `spread over the ranks of the measured ones. ` +
    (correlation === null ? "" : `Rank correlation (Spearman): ${correlation.toFixed(2)}; 1 is the same order. `) +
    (data.predictions.failed > 0 ? `${plural(data.predictions.failed, "more kernel")} could not be modelled.` : "");
  const order = [...candidate.keys()].sort((a, b) => measured[a] - measured[b]);
  const x = order.map(i => measured[i]), y = order.map(i => predicted[i]);
  const range = roomy([...x, ...y]);
  new Plot(figure, {
    title: "Predicted over measured latency",
    summary: at("prediction-about").textContent,
    legend: [["accent", "a kernel", "dot"], ["ink-soft", "equal", "dash"]],
    height: 340,
    build: () => ({
      options: {
        scales: {x: logScale(...range), y: logScale(...range)},
        axes: [axis(2, "measured, µs", plainNumber, 80), axis(3, "predicted, µs", plainNumber, 34)],
        series: [{}, dots(colour("accent"), 7), {stroke: colour("ink-soft"), width: 1, dash: [6, 4], points: {show: false}}],
      },
      data: [[range[0], ...x, range[1]], [null, ...y, null], [range[0], ...x, range[1]]],
    }),
    points: () => order.map((i, place) => ({x: x[place], y: y[place], row: i,
      label: `#${candidate[i]}  measured ${withUnit(measured[i])}, predicted ${withUnit(predicted[i])}`})),
    choose: i => showCandidate(candidate[i]),
    numbers: ["predictions", () => table([{title: "candidate"}, {title: "measured, µs", number: true}, {title: "predicted, µs", number: true}],
      order.map(i => [candidateLink(candidate[i]), microseconds(measured[i]), microseconds(predicted[i])]), "Predicted and measured latencies")],
  });
}

// --- phases

function phaseSection() {
  const parts = [["waiting_s", "waiting for a compiler", "stage-built"], ["validation_s", "validation", "accent"],
                 ["timing_s", "timing", "stage-valid"]];
  at("phases").dataset.points = data.runs.length;
  at("phases").append(
    el("p", {class: "legend"}, parts.map(([, text, name]) => el("span", {}, el("i", {class: "key band", style: `--key: var(--${name})`}), text)),
      el("span", {}, el("i", {class: "key band", style: "--key: var(--grid)"}), "other")),
    el("ul", {class: "phases", "aria-hidden": "true"}, data.runs.map(run => el("li", {}, el("span", {class: "step"}, `run ${run.id}`),
      el("span", {class: "stack"}, parts.map(([key, , name]) =>
        el("i", {style: `width: ${run.phases.run_s > 0 ? (100 * run.phases[key]) / run.phases.run_s : 0}%; --key: var(--${name})`}))),
      el("span", {class: "left"}, duration(run.phases.run_s))))),
    table([{title: "run"}, {title: "whole run", number: true}, ...parts.map(([, text]) => ({title: text, number: true})),
           {title: "compiling, all workers", number: true}, {title: "evaluations a minute", number: true}],
      data.runs.map(run => [String(run.id), duration(run.phases.run_s), ...parts.map(([key]) => duration(run.phases[key])),
        duration(run.phases.compile_s), run.phases.run_s > 0 ? ((60 * run.evaluated) / run.phases.run_s).toFixed(1) : "–"]),
      "Phases of each run"));
}

// --- environment

function environmentSection() {
  const facts = [["task", [data.task.name, data.task.summary].filter(Boolean).join(": ")], ["task hash", el("code", {}, data.task.hash)],
    ["device", `${data.device.name}, ${data.device.id}, ${data.device.arch}`], ["driver", data.device.driver || "–"]];
  const further = new Set(data.runs.flatMap(run => run.further_devices.map(one => one.id)));
  if (further.size > 0) facts.push(["further devices", [...further].join(", ")]);
  if (data.device.uuid) facts.push(["uuid", el("code", {}, data.device.uuid)]);
  at("runs").append(
    el("dl", {class: "facts"}, facts.flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, value)])),
    table([{title: "run"}, {title: "status"}, {title: "started (UTC)"}, {title: "seed", number: true}, {title: "strategy"},
           {title: "screen", number: true}, {title: "evaluated", number: true}, {title: "valid", number: true},
           {title: "best, µs", number: true}, {title: "evo"}, {title: "NVRTC"}, {title: "salt"}, {title: "command"}],
      data.runs.map(run => [String(run.id), run.status, run.started_at.replace("T", " ").slice(0, 16), String(run.seed), run.strategy,
        String(run.screen), grouped(run.evaluated), grouped(run.valid), microseconds(run.best_us), run.evo_version, run.nvrtc_version,
        el("code", {}, run.salt), el("code", {class: "command"}, run.command_line)]), "The runs"));
  if (data.questions.length > 0)
    at("questions").append(el("h3", {}, "Open questions"), el("ul", {}, data.questions.map(question => el("li", {}, question))));
  if (data.lessons.length > 0)
    at("questions").append(el("h3", {}, "Lessons of all runs of the task"), el("ul", {}, data.lessons.map(lesson => el("li", {}, lesson))));
}

/** Draws every section from the data. */
function drawPage() {
  removePlots();
  removeTables();
  for (const holder of document.querySelectorAll("[data-drawn]")) holder.replaceChildren();
  answers();
  bestPlot("best-by-evaluations", data.by_evaluations, "Over evaluations", "evaluations", value => grouped(Math.round(value)));
  bestPlot("best-by-seconds", data.by_seconds, "Over time", "time since the run began", tickDuration);
  candidateSection();
  frontSection();
  floorSection();
  geneSection();
  lineageSection();
  treeSection();
  modelSection();
  exchangeSection();
  predictionSection();
  phaseSection();
  environmentSection();
}

take(JSON.parse(at("data").textContent));
drawPage();
document.documentElement.dataset.ready = "";
