// One candidate in detail, and all of them over the run.

const textLines = numbers => numbers.map(number => data.lineage.lines[number]);

/** A button that opens a candidate's details. */
function candidateLink(id, text = `#${id}`) {
  return el("button", {type: "button", class: "link", onclick: () => showCandidate(id)}, text);
}

function diffLines(numbers) {
  return el("pre", {class: "code"}, textLines(numbers).filter(line => !/^(---|\+\+\+) /.test(line)).map(line => {
    const kind = {"+": "added", "-": "removed", "@": "place"}[line[0]];
    return el("span", {class: kind ?? null}, `${line}\n`);
  }));
}

function sourceLines(numbers) {
  return el("pre", {class: "code numbered"}, textLines(numbers).map(line => el("span", {}, `${line}\n`)));
}

/** Opens the details of a candidate: what it is, why it ended as it did, what it changed, its source. */
function showCandidate(id) {
  const dialog = at("details");
  const row = rowOf.get(id);
  const node = lineageOf.get(id);
  const verdict = row === undefined ? node.verdict : verdictOf(row);
  const genes = row === undefined ? Object.entries(node.genome.genes) : genesOf(row);
  const family = row === undefined ? node.genome.family : data.genomes[candidates.family[row]].family;
  const latency = row === undefined ? node.latency_us : candidates.latency_us[row];
  const facts = [["verdict", verdictLabel(verdict)]];
  if (latency !== null) facts.push(["latency", `${withUnit(latency)} ${data.timing}`]);
  if (row !== undefined) {
    if (candidates.relative_l2[row] !== null) facts.push(["largest error", errorText(candidates.relative_l2[row])]);
    facts.push(["run", `${runOf(row).id}, evaluation ${candidates.evaluation[row]}, after ${duration(candidates.seconds[row])}`]);
    const parent = candidates.parent[row];
    facts.push(["made by", el("span", {}, candidates.ops[candidates.op[row]],
      parent && (rowOf.has(parent) || lineageOf.has(parent)) ? [" from ", candidateLink(parent)] : null)]);
    const reason = candidates.reasons[candidates.reason[row]];
    if (reason) facts.push(["reason", reason]);
  }
  const close = el("button", {type: "button", class: "close", "aria-label": "Close", onclick: () => dialog.close()}, "×");
  dialog.replaceChildren(
    el("header", {}, el("h2", {id: "details-title"}, `Candidate ${id}`), close),
    el("dl", {class: "facts"}, facts.flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, value)])),
    el("h3", {}, `Genes of ${family}`),
    el("p", {class: "chips"}, genes.map(([gene, allele]) =>
      el("span", {class: "chip"}, `${gene} `, el("b", {}, String(allele))))));
  if (node?.source_change)
    dialog.append(el("h3", {}, `Changed lines from candidate ${node.parent}`), diffLines(node.source_change));
  if (node?.source)
    dialog.append(el("details", {}, el("summary", {}, `Source, ${plural(node.source.length, "line")}`),
      sourceLines(node.source)));
  else
    dialog.append(el("p", {class: "about"}, "Its source: ", el("code", {}, `evo show ${id} --source`)));
  if (!dialog.open) dialog.showModal();
  dialog.scrollTop = 0;
  close.focus({preventScroll: true});
}

at("details").addEventListener("click", event => {
  if (event.target === at("details")) at("details").close();  // The backdrop.
});

// --- all of them

const kMostTableRows = 200;
const kMostReasons = 8;

function candidateSection() {
  const verdictCounts = new Map();
  for (const verdict of candidates.verdict) verdictCounts.set(verdict, (verdictCounts.get(verdict) ?? 0) + 1);
  const present = [...verdictCounts.keys()].sort((a, b) => a - b);
  const valid = verdictNames.indexOf("valid");
  const lanes = present.filter(verdict => verdict !== valid);
  const laneOf = new Map(lanes.map((verdict, i) => [verdict, i]));

  let rows = [];
  const choose = () => {
    const column = candidates[view.axis];
    rows = [...candidates.id.keys()].filter(row => !view.hidden.has(verdictOf(row)) &&
      (view.run === "all" || candidates.run[row] === Number(view.run)));
    rows.sort((a, b) => column[a] - column[b]);
  };
  choose();

  const xOf = row => candidates[view.axis][row];
  const xRange = () => {
    const last = rows.reduce((most, row) => Math.max(most, xOf(row)), 1);
    return [-last * 0.015, last * 1.015];
  };
  const label = row => {
    const latency = candidates.latency_us[row];
    return `#${candidates.id[row]}  ${words(verdictOf(row))}${latency === null ? "" : `  ${withUnit(latency)}`}`;
  };
  const showRow = row => showCandidate(candidates.id[row]);
  const size = () => (rows.length > 2000 ? 4 : rows.length > 400 ? 5 : 7);
  const latencies = () => rows.filter(row => candidates.verdict[row] === valid && candidates.latency_us[row] !== null);
  const numbers = () => table(
    [{title: "candidate"}, {title: "verdict"}, {title: "latency, µs", number: true}, {title: "error", number: true},
     {title: "evaluation", number: true}, {title: "made by"}],
    [...rows].sort((a, b) => (candidates.latency_us[a] ?? Infinity) - (candidates.latency_us[b] ?? Infinity))
      .slice(0, kMostTableRows)
      .map(row => [candidateLink(candidates.id[row]), verdictLabel(verdictOf(row)),
        microseconds(candidates.latency_us[row]), errorText(candidates.relative_l2[row]),
        String(candidates.evaluation[row]), candidates.ops[candidates.op[row]]]),
    `The fastest ${kMostTableRows} of the chosen candidates`);

  const figure = at("candidate-plot");
  const latencyPlot = new Plot(figure, {
    title: "Latency of valid candidates",
    summary: `${plural(verdictCounts.get(valid) ?? 0, "valid candidate")} of ${grouped(candidateCount)}`,
    legend: [["stage-valid", "valid", "dot"]],
    height: innerWidth < 480 ? 220 : 280,
    build: () => ({
      options: {
        scales: {x: linearScale(...xRange()), y: logScale(...roomy(latencies().map(row => candidates.latency_us[row])))},
        axes: [axis(2, "", view.axis === "seconds" ? tickDuration : grouped, 90),
               axis(3, "latency, µs", plainNumber, 34)],
        series: [{}, dots(colour("stage-valid"), size())],
      },
      data: [latencies().map(xOf), latencies().map(row => candidates.latency_us[row])],
    }),
    points: () => latencies().map(row => ({x: xOf(row), y: candidates.latency_us[row], row, label: label(row)})),
    choose: showRow,
  });

  let lanePlot = null;
  if (lanes.length > 0) {
    const stages = [...new Set(lanes.map(verdict => stageClass(verdictNames[verdict])))];
    const rejected = () => rows.filter(row => candidates.verdict[row] !== valid);
    const heights = [-0.6, lanes.length - 0.4];
    lanePlot = new Plot(figure, {
      title: "Rejected candidates",
      summary: lanes.map(verdict => `${verdictCounts.get(verdict)} ${words(verdictNames[verdict])}`).join(", "),
      legend: lanes.map(verdict => [stageClass(verdictNames[verdict]), words(verdictNames[verdict]), "dot"]),
      height: 58 + 26 * lanes.length,
      build: () => {
        const all = rejected();
        const narrow = innerWidth < 480;
        return {
          options: {
            padding: [4, 24, 0, 0],
            scales: {x: linearScale(...xRange()), y: {range: heights, time: false}},
            axes: [axis(2, view.axis === "seconds" ? "time since the run began" : "evaluation",
                        view.axis === "seconds" ? tickDuration : grouped, 90),
                   {...axis(3, narrow ? "" : " ", () => ""), splits: () => lanes.map((_, i) => i),
                    values: () => lanes.map(verdict => grouped(verdictCounts.get(verdict)))}],
            series: [{}, ...stages.map(stage => dots(colour(stage), size()))],
          },
          data: [all.map(xOf), ...stages.map(stage => all.map(row =>
            stageClass(verdictOf(row)) === stage ? laneOf.get(candidates.verdict[row]) : null))],
        };
      },
      points: () => rejected().map(row => ({x: xOf(row), y: laneOf.get(candidates.verdict[row]), row, label: label(row)})),
      choose: showRow,
      numbers: ["candidates", numbers],
    });
  } else {
    figure.append(numbersOf("candidates", numbers));
  }

  const count = el("output", {class: "count", role: "status"});
  const update = () => {
    choose();
    say();
    latencyPlot.draw();
    lanePlot?.draw();
    const open = figure.querySelector("details.numbers[open]");
    if (open) open.dispatchEvent(new Event("toggle"));
  };
  const say = () => {
    count.textContent = rows.length === candidateCount ? `${grouped(candidateCount)} shown`
      : `${grouped(rows.length)} of ${grouped(candidateCount)} shown`;
  };
  say();
  at("candidate-filters").append(...[
    choice("axis", "Over", [["evaluation", "evaluations"], ["seconds", "time"]], view.axis, value => {
      view.axis = value;
      update();
    }),
    el("fieldset", {class: "choice"}, el("legend", {}, "Verdicts"), present.map(verdict => el("label", {},
      el("input", {type: "checkbox", name: "verdict", value: verdictNames[verdict], checked: !view.hidden.has(verdictNames[verdict]), onchange: event => {
        if (event.target.checked) view.hidden.delete(verdictNames[verdict]);
        else view.hidden.add(verdictNames[verdict]);
        update();
      }}), verdictLabel(verdictNames[verdict]), el("small", {}, grouped(verdictCounts.get(verdict)))))),
    data.runs.length > 1 ? el("label", {class: "choice"}, el("span", {class: "legend-text"}, "Run "),
      el("select", {name: "run", onchange: event => {
        view.run = event.target.value;
        update();
      }}, el("option", {value: "all"}, "all"), data.runs.map((run, i) => el("option", {value: i, selected: view.run === String(i)}, `${run.id} (seed ${run.seed})`)))) : null,
    count].filter(part => part));

  // The funnel: what is left after each step.
  const most = data.funnel[0].left;
  at("funnel").append(el("ol", {class: "funnel"}, data.funnel.map(step => el("li", {},
    el("span", {class: "step"}, step.step),
    el("span", {class: "bar", "aria-hidden": "true"}, el("i", {style: `width: ${(100 * step.left) / Math.max(1, most)}%`})),
    el("span", {class: "left"}, grouped(step.left)),
    Object.keys(step.lost).length === 0 ? null : el("span", {class: "lost"}, Object.entries(step.lost).map(
      ([verdict, lost]) => el("span", {}, el("i", {class: `dot ${stageClass(verdict)}`}), `−${grouped(lost)} ${words(verdict)}`)))))));

  const reasons = [...data.rejections].sort((a, b) => b.candidates - a.candidates);
  at("rejections").append(reasons.length === 0 ? el("p", {}, "No candidate was rejected.") : el("ul", {class: "reasons"},
    reasons.slice(0, kMostReasons).map(one => el("li", {},
      el("span", {class: "left"}, grouped(one.candidates)),
      el("span", {}, verdictLabel(one.verdict), ", first ", candidateLink(one.first)),
      el("span", {class: "reason", title: one.reason}, one.reason)))));
  if (reasons.length > kMostReasons)
    at("rejections").append(el("p", {class: "about"}, `and ${plural(reasons.length - kMostReasons, "rarer reason")}`));
}
