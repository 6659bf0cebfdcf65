// All candidates over the run, what is shown of them, and a table.

const kMostReasons = 8;
const kPrintedGenes = 3;
const kMostGeneColumns = 40;  // Of the table: those of the most important genes.

/** How often each verdict came, by its place among the names. */
function verdictCounts() {
  const counts = new Map();
  for (const verdict of candidates.verdict) counts.set(verdict, (counts.get(verdict) ?? 0) + 1);
  return counts;
}

const pointLabel = row => {
  const latency = candidates.latency_us[row];
  return `#${candidates.id[row]}  ${words(verdictOf(row))}${latency === null ? "" : `  ${withUnit(latency)}`}`;
};

const xOf = row => candidates[view.axis][row];
const xTitle = () => (view.axis === "seconds" ? "time since the run began" : "evaluation");
const xAxis = label => axis(2, label, view.axis === "seconds" ? tickDuration : grouped, 90);
const pointSize = rows => (rows.length > 2000 ? 4 : rows.length > 400 ? 5 : 7);
const showRow = row => showCandidate(candidates.id[row]);

/** The valid ones. `shown()`: the rows by what is across; `across()`: its range; `below`: whether another plot follows. */
function latencyPlot(counts, shown, across, below) {
  const valid = verdictNames.indexOf("valid");
  const rows = () => shown().filter(row => candidates.verdict[row] === valid && candidates.latency_us[row] !== null);
  return new Plot(at("candidate-plot"), {
    title: "Latency of valid candidates",
    summary: `${plural(counts.get(valid) ?? 0, "valid candidate")} of ${grouped(candidateCount)}`,
    legend: [["stage-valid", "valid", "dot"]],
    height: innerWidth < 480 ? 220 : 280,
    build: () => ({
      options: {
        scales: {x: linearScale(...across()), y: logScale(...roomy(rows().map(row => candidates.latency_us[row])))},
        axes: [xAxis(below ? "" : xTitle()), axis(3, "latency, µs", plainNumber, 34)],
        series: [{}, dots(colour("stage-valid"), pointSize(shown()))],
      },
      data: [rows().map(xOf), rows().map(row => candidates.latency_us[row])],
    }),
    points: () => rows().map(row => ({x: xOf(row), y: candidates.latency_us[row], row, label: pointLabel(row)})),
    choose: showRow,
  });
}

/** The rejected ones, in a lane for each verdict. */
function lanePlot(counts, lanes, shown, across) {
  const laneOf = new Map(lanes.map((verdict, i) => [verdict, i]));
  const stages = [...new Set(lanes.map(verdict => stageClass(verdictNames[verdict])))];
  const rows = () => shown().filter(row => laneOf.has(candidates.verdict[row]));
  const name = verdict => `${words(verdictNames[verdict])}: ${grouped(counts.get(verdict))}`;
  return new Plot(at("candidate-plot"), {
    title: "Rejected candidates",
    summary: lanes.map(verdict => `${counts.get(verdict)} ${words(verdictNames[verdict])}`).join(", "),
    legend: lanes.map(verdict => [stageClass(verdictNames[verdict]), words(verdictNames[verdict]), "dot"]),
    height: 58 + 30 * lanes.length,
    zooms: "x",
    build: () => {
      const all = rows();
      return {
        options: {
          padding: [4, 24, 0, 0],
          scales: {x: linearScale(...across()), y: {range: [-0.6, lanes.length - 0.4], time: false}},
          axes: [xAxis(xTitle()), {...axis(3, "verdict", () => ""), splits: () => lanes.map((_, i) => i), values: () => lanes.map(() => "")}],
          series: [{}, ...stages.map(stage => dots(colour(stage), pointSize(shown())))],
          hooks: {draw: [u => lanes.forEach((verdict, i) => drawLaneName(u, i, name(verdict)))]},
        },
        data: [all.map(xOf), ...stages.map(stage => all.map(row =>
          (stageClass(verdictOf(row)) === stage ? laneOf.get(candidates.verdict[row]) : null)))],
      };
    },
    points: () => rows().map(row => ({x: xOf(row), y: laneOf.get(candidates.verdict[row]), row, label: pointLabel(row)})),
    choose: showRow,
  });
}

/** The columns of a table of candidates. Their values are what sorting and CSV use. */
function candidateColumns() {
  const figure = (title, name, text, number = true) => ({title, number, value: kFigures[name], text: text && (row => text(kFigures[name](row))),
    cell: text ? row => text(kFigures[name](row)) : undefined});
  return [
    {title: "candidate", value: kFigures.id, cell: row => candidateLink(candidates.id[row])},
    figure("latency, µs", "latency", microseconds),
    {title: "verdict", value: kFigures.verdict, cell: row => verdictLabel(verdictOf(row)), least: 14},
    figure("error", "error", errorText),
    ...(data.runs.length > 1 ? [figure("run", "run", null)] : []),
    figure("evaluation", "evaluation", null),
    {...figure("after, s", "seconds", value => value.toFixed(1)), paper: false},
    ...(data.genomes.length > 1 ? [figure("family", "family", null, false)] : []),
    ...differingGenes().slice(0, kMostGeneColumns).map(([gene], i) => ({title: gene, paper: i < kPrintedGenes, value: row => alleleOf(row, gene),
      cell: row => { const allele = alleleOf(row, gene); return allele === undefined ? null : String(allele); }})),
    figure("made by", "operator", null, false),
    {title: "parent", paper: false, value: row => candidates.parent[row] || null, cell: row => {
      const parent = candidates.parent[row];
      return !parent ? null : rowOf.has(parent) || lineageOf.has(parent) ? candidateLink(parent) : String(parent);
    }},
    {title: "reason", paper: false, value: row => candidates.reasons[candidates.reason[row]], least: 20},
  ];
}

/** The funnel: what is left after each step. */
function funnel() {
  const most = data.funnel[0].left;
  at("funnel").append(el("ol", {class: "funnel"}, data.funnel.map(step => el("li", {},
    el("span", {class: "step"}, step.step),
    el("span", {class: "bar", "aria-hidden": "true"}, el("i", {style: `width: ${(100 * step.left) / Math.max(1, most)}%`})),
    el("span", {class: "left"}, grouped(step.left)),
    Object.keys(step.lost).length === 0 ? null : el("span", {class: "lost"}, Object.entries(step.lost).map(
      ([verdict, lost]) => el("span", {}, el("i", {class: `dot ${stageClass(verdict)}`}), `−${grouped(lost)} ${words(verdict)}`)))))));
}

function rejectionList() {
  const reasons = [...data.rejections].sort((a, b) => b.candidates - a.candidates);
  at("rejections").append(reasons.length === 0 ? el("p", {}, "No candidate was rejected.") : el("ul", {class: "reasons"},
    reasons.slice(0, kMostReasons).map(one => el("li", {},
      el("span", {class: "left"}, grouped(one.candidates)),
      el("span", {}, verdictLabel(one.verdict), ", first ", candidateLink(one.first)),
      el("span", {class: "reason", title: one.reason}, one.reason)))));
  if (reasons.length > kMostReasons)
    at("rejections").append(el("p", {class: "about"}, `and ${plural(reasons.length - kMostReasons, "rarer reason")}`));
}

function candidateSection() {
  const counts = verdictCounts();
  const present = [...counts.keys()].sort((a, b) => a - b);
  const lanes = present.filter(verdict => verdictNames[verdict] !== "valid");
  let rows = [], byPlace = [];
  const choose = () => {
    rows = chosenRows();
    byPlace = [...rows].sort((a, b) => xOf(a) - xOf(b));
  };
  choose();
  const across = () => {
    const last = rows.reduce((most, row) => Math.max(most, xOf(row)), 1);
    return [-last * 0.015, last * 1.015];
  };
  const shown = [latencyPlot(counts, () => byPlace, across, lanes.length > 0)];
  if (lanes.length > 0) shown.push(lanePlot(counts, lanes, () => byPlace, across));
  // What is across is the same in both.
  for (const [i, plot] of shown.entries())
    plot.spec.zoomed = zoom => {
      const other = shown[1 - i];
      if (!other || other.zoom.x === zoom.x) return;
      if (zoom.x) other.zoom.x = zoom.x;
      else delete other.zoom.x;
      other.draw();
    };
  const all = new LongTable({name: "candidates", caption: "All candidates that are shown", columns: candidateColumns(), rows, sort: [1, false]});

  const count = el("output", {class: "count", role: "status"});
  const say = () => {
    count.textContent = rows.length === candidateCount ? `${grouped(candidateCount)} shown`
      : `${grouped(rows.length)} of ${grouped(candidateCount)} shown`;
  };
  const update = () => {
    choose();
    say();
    for (const plot of shown) plot.draw();
    all.show(rows);
  };
  say();
  at("candidate-table").append(el("p", {class: "table-title"}, el("b", {}, "All candidates that are shown"),
    all.saveButton(`${data.task.name}_candidates.csv`)), all.element);
  all.goBack();
  at("candidate-filters").append(...[
    searchField(update),
    choice("axis", "Over", [["evaluation", "evaluations"], ["seconds", "time"]], view.axis, value => {
      view.axis = value;
      for (const plot of shown) delete plot.zoom.x;
      update();
    }),
    verdictBoxes(present, counts, update),
    data.runs.length > 1 ? runChoice(update) : null,
    count].filter(part => part));
  funnel();
  rejectionList();
}

function verdictBoxes(present, counts, update) {
  return el("fieldset", {class: "choice"}, el("legend", {}, "Verdicts"), present.map(verdict => el("label", {},
    el("input", {type: "checkbox", name: "verdict", value: verdictNames[verdict], checked: !view.hidden.has(verdictNames[verdict]), onchange: event => {
      if (event.target.checked) view.hidden.delete(verdictNames[verdict]);
      else view.hidden.add(verdictNames[verdict]);
      update();
    }}), verdictLabel(verdictNames[verdict]), el("small", {}, grouped(counts.get(verdict))))));
}

function runChoice(update) {
  return el("label", {class: "choice"}, el("span", {class: "legend-text"}, "Run "),
    el("select", {name: "run", onchange: event => {
      view.run = event.target.value;
      update();
    }}, el("option", {value: "all"}, "all"), data.runs.map((run, i) =>
      el("option", {value: i, selected: view.run === String(i)}, `${run.id} (seed ${run.seed})`))));
}
