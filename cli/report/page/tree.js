// The whole tree: every candidate below its first parent, as a picture of generations and as rows that fold.

const kDeepestIndent = 24;  // Levels: deeper rows are not moved further to the right.

/** Places of parents and children, generations, roots and the order of rows: depth first, the child that leads to the fastest one first. */
function wholeTree() {
  const parentOf = candidates.parent.map(id => (rowOf.has(id) ? rowOf.get(id) : -1));
  const children = candidates.id.map(() => []);
  const roots = [];
  parentOf.forEach((parent, row) => (parent < 0 ? roots : children[parent]).push(row));
  // A parent is older than its children, so that one pass each way does.
  const byAge = [...candidates.id.keys()].sort((a, b) => candidates.id[a] - candidates.id[b]);
  const generation = candidates.id.map(() => 0);
  const below = candidates.latency_us.map(one => one ?? Infinity);
  const offspring = candidates.id.map(() => 0);
  for (const row of byAge) if (parentOf[row] >= 0) generation[row] = generation[parentOf[row]] + 1;
  for (const row of [...byAge].reverse())
    if (parentOf[row] >= 0) {
      below[parentOf[row]] = Math.min(below[parentOf[row]], below[row]);
      offspring[parentOf[row]] += offspring[row] + 1;
    }
  const order = (a, b) => below[a] - below[b] || candidates.id[a] - candidates.id[b];
  roots.sort(order);
  for (const one of children) one.sort(order);
  return {parentOf, children, roots, generation, offspring};
}

/** The rows that no folded ancestor hides. */
function unfoldedRows(tree) {
  const rows = [], open = [...tree.roots].reverse();
  while (open.length > 0) {
    const row = open.pop();
    rows.push(row);
    if (!view.folded.has(candidates.id[row])) open.push(...[...tree.children[row]].reverse());
  }
  return rows;
}

function generationPlot(tree) {
  const stages = [...new Set(candidates.verdict.map(verdict => stageClass(verdictNames[verdict])))];
  const rows = [...candidates.id.keys()].sort((a, b) => candidates.evaluation[a] - candidates.evaluation[b]);
  const edges = rows.filter(row => tree.parentOf[row] >= 0 && candidates.run[row] === candidates.run[tree.parentOf[row]]).map(row =>
    [tree.parentOf[row], row].map(one => [candidates.evaluation[one], tree.generation[one]]));
  const deepest = tree.generation.reduce((most, one) => Math.max(most, one), 0);
  const last = candidates.evaluation.reduce((most, one) => Math.max(most, one), 1);
  const best = new Set(data.lineage.nodes.filter(node => node.rank > 0).map(node => rowOf.get(node.candidate)));
  const chosen = kept => rows.map(row => (kept(row) ? tree.generation[row] : null));
  new Plot(at("tree-plot"), {
    title: "Generations",
    summary: `${plural(candidateCount, "candidate")} in ${plural(deepest + 1, "generation")}, from ${plural(tree.roots.length, "first one")}.`,
    legend: [...stages.map(stage => [stage, stage.replace("stage-", ""), "dot"]), ["accent", "the fastest", "dot"]],
    height: Math.min(420, Math.max(180, 60 + 22 * (deepest + 1))),
    build: () => ({
      options: {
        scales: {x: linearScale(-last * 0.015, last * 1.015), y: linearScale(-0.6 - deepest * 0.02, deepest * 1.02 + 0.6)},
        axes: [axis(2, "evaluation of its run", grouped, 90), axis(3, "generation", value => (Number.isInteger(value) ? String(value) : ""), 30)],
        series: [{}, ...stages.map(stage => dots(colour(stage), pointSize(rows))), dots(colour("page"), 11, colour("accent"))],
        hooks: {drawAxes: [u => drawEdges(u, edges, "ink-faint")]},
      },
      data: [rows.map(row => candidates.evaluation[row]),
        ...stages.map(stage => chosen(row => stageClass(verdictOf(row)) === stage)), chosen(row => best.has(row))],
    }),
    points: () => rows.map(row => ({x: candidates.evaluation[row], y: tree.generation[row], row,
      label: `${pointLabel(row)}, generation ${tree.generation[row]}`})),
    choose: showRow,
  });
}

/** What a child has that its parent has not: "stages 3→4". */
function changedGenes(tree, row) {
  const parent = tree.parentOf[row];
  if (parent < 0) return "";
  if (candidates.family[parent] !== candidates.family[row]) return `becomes ${kFigures.family(row)}`;
  const before = new Map(genesOf(parent)), after = new Map(genesOf(row));
  return [...new Set([...before.keys(), ...after.keys()])].filter(gene => before.get(gene) !== after.get(gene))
    .map(gene => `${gene} ${before.get(gene) ?? "–"}→${after.get(gene) ?? "–"}`).join(", ");
}

function treeSection() {
  const holder = at("whole-tree");
  if (candidateCount === 0 || candidates.parent.every(parent => !rowOf.has(parent))) {
    holder.append(el("p", {class: "about"}, "No candidate was made from another one."));
    return;
  }
  const tree = wholeTree();
  generationPlot(tree);
  const gain = row => {
    const parent = tree.parentOf[row];
    return parent >= 0 && candidates.latency_us[parent] !== null && candidates.latency_us[row] !== null
      ? candidates.latency_us[parent] / candidates.latency_us[row] : null;
  };
  const show = () => rows.show(unfoldedRows(tree));
  const foldMark = row => {
    const id = candidates.id[row], folded = view.folded.has(id);
    return tree.children[row].length === 0 ? el("span", {class: "fold", "aria-hidden": "true"}, "·")
      : el("button", {type: "button", class: "fold", "aria-expanded": String(!folded), "aria-label": `Descendants of ${id}`, onclick: () => {
        if (folded) view.folded.delete(id);
        else view.folded.add(id);
        show();
        rows.body.querySelector(`[aria-label="Descendants of ${id}"]`)?.focus({preventScroll: true});
      }}, folded ? "▸" : "▾");
  };
  const rows = new LongTable({
    name: "whole tree", caption: "Every candidate below its first parent", rows: [], sorts: false, height: 380,
    columns: [
      {title: "candidate", value: kFigures.id, least: 34, cell: row => el("span", {style: `padding-left: ${Math.min(tree.generation[row], kDeepestIndent) * 11}px`},
        foldMark(row), candidateLink(candidates.id[row]))},
      {title: "generation", number: true, value: row => tree.generation[row]},
      {title: "latency, µs", number: true, value: kFigures.latency, cell: row => (candidates.latency_us[row] === null ? null : microseconds(candidates.latency_us[row]))},
      {title: "gain", number: true, value: gain, cell: row => (gain(row) === null ? null : times(gain(row)))},
      {title: "descendants", number: true, value: row => tree.offspring[row]},
      {title: "verdict", value: kFigures.verdict, cell: row => verdictLabel(verdictOf(row)), least: 16},
      {title: "made by", value: kFigures.operator, least: 16},
      {title: "changed genes", value: row => changedGenes(tree, row), least: 40},
    ],
  });
  const fold = (text, folded) => el("button", {type: "button", class: "action", onclick: () => {
    view.folded = new Set(folded ? candidates.id.filter((_, row) => tree.children[row].length > 0) : []);
    show();
  }}, text);
  holder.append(el("p", {class: "table-title"}, el("b", {}, "Every candidate below its first parent"),
    fold("Fold all", true), fold("Unfold all", false), rows.saveButton(`${data.task.name}_tree.csv`)), rows.element);
  show();
  rows.goBack();
}
