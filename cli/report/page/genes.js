// What genes are worth: a table of importances and alleles, and the best fifty as parallel coordinates.

const kBest = 50;
const kMostAxes = 12;
const kShownGenes = 10;

/** Without two kernels that differ in a gene alone its share cannot be told from that of others. */
const isTold = gene => gene.pairs > 0;

function alleleStrip(gene, best) {
  return el("span", {class: "chips"}, gene.alleles.filter(one => one.tried > 0).map(one => {
    const loss = one.best_us === null ? null : one.best_us / best - 1;
    // The nearer to the best, the stronger the shade: none from 50 % behind on.
    const shade = loss === null || !isTold(gene) ? 0 : Math.max(0, 1 - loss / 0.5);
    return el("span", {class: `chip allele${isTold(gene) && loss !== null && loss < 1e-9 ? " top" : ""}`, style: `--shade: ${shade.toFixed(2)}`,
      title: `${plural(one.tried, "candidate")}, ${one.valid} valid`},
      String(one.allele), " ", el("b", {}, one.best_us === null ? "none valid" : microseconds(one.best_us)));
  }));
}

/** The most important genes, and the others behind a fold. */
function geneTables(family) {
  const tried = family.genes.filter(gene => gene.alleles.filter(one => one.tried > 0).length > 1);
  const genes = [...tried.filter(isTold), ...tried.filter(gene => !isTold(gene))];
  const most = Math.max(...genes.filter(isTold).map(gene => gene.importance), 1e-9);
  const untold = "No two valid candidates differ in this gene alone.";
  const some = (chosen, caption) => table(
    [{title: "gene"}, {title: "importance"}, {title: "alone", number: true}, {title: "best µs with each allele"}],
    chosen.map(gene => [
      el("code", {}, gene.gene),
      !isTold(gene) ? el("span", {title: untold}, "–")
        : el("span", {class: "bar-cell"}, el("span", {class: "bar", "aria-hidden": "true"},
          el("i", {style: `width: ${(100 * gene.importance) / most}%`})), gene.importance > 0 ? percent(gene.importance) : "–"),
      isTold(gene) ? el("span", {title: plural(gene.pairs, "pair")}, times(gene.pair_ratio)) : el("span", {title: untold}, "–"),
      alleleStrip(gene, family.best_us)]),
    caption);
  const rest = genes.slice(kShownGenes);
  return [some(genes.slice(0, kShownGenes), `The most important genes of ${family.family}`),
    rest.length === 0 ? null : el("details", {class: "more", "data-key": "further genes"}, el("summary", {}, plural(rest.length, "further gene")),
      some(rest, `Further genes of ${family.family}`))].filter(one => one);
}

/** The rows of a family's fastest valid candidates, one of each genome. */
function bestRows(number) {
  const seen = new Set();
  return [...candidates.id.keys()]
    .filter(row => candidates.family[row] === number && verdictOf(row) === "valid" && candidates.latency_us[row] !== null)
    .sort((a, b) => candidates.latency_us[a] - candidates.latency_us[b])
    .filter(row => {
      const text = JSON.stringify(genesOf(row));
      return !seen.has(text) && seen.add(text);
    })
    .slice(0, kBest);
}

function parallelCoordinates(family) {
  const figure = at("parallel");
  figure.replaceChildren();
  const number = data.genomes.findIndex(one => one.family === family.family);
  const rows = number < 0 ? [] : bestRows(number);
  const genesByRow = rows.map(row => new Map(genesOf(row)));
  const differing = family.genes.map(gene => gene.gene)
    .filter(gene => new Set(genesByRow.map(genes => genes.get(gene))).size > 1).slice(0, kMostAxes);
  figure.dataset.points = rows.length;
  at("parallel-about").textContent = rows.length < 2 || differing.length === 0
    ? "There are too few valid candidates of this family to compare."
    : `The ${rows.length} fastest kernels of ${family.family}: one line each, through its alleles of the ` +
      `${plural(differing.length, "most important gene")} in which they differ. The strongest line is the fastest. ` +
      "Choose an allele to keep the lines that go through it.";
  if (rows.length < 2 || differing.length === 0) return;

  const columns = differing.map(gene => ({
    title: gene,
    values: [...new Set(genesByRow.map(genes => genes.get(gene)))].sort(compareValues),
  }));
  const top = 44, height = 330, left = 44, right = 62;
  const step = Math.max(84, Math.min(160, (figure.clientWidth - left - right) / differing.length));
  const width = left + step * columns.length + right;
  const x = i => left + i * step;
  const y = (i, value) => {
    const {values} = columns[i];
    const place = values.findIndex(one => one === value);
    return values.length === 1 ? top + height / 2 : top + height - (place / (values.length - 1)) * height;
  };
  const latencies = rows.map(row => candidates.latency_us[row]);
  const low = latencies[0], high = latencies[latencies.length - 1];
  const latencyY = us => top + height - (high > low ? (Math.log(us / low) / Math.log(high / low)) * height : 0);
  const kept = view.alleles.get(family.family) ?? new Map();
  const chosen = new Map([...kept].filter(([gene, allele]) =>
    columns.some(column => column.title === gene && column.values.includes(allele))));
  view.alleles.set(family.family, chosen);

  const lines = rows.map((row, i) => {
    const places = columns.map((column, c) => [x(c), y(c, genesByRow[i].get(column.title))]);
    places.push([x(columns.length), latencyY(latencies[i])]);
    const path = el("path", {d: `M${places.map(place => place.map(one => one.toFixed(1)).join(",")).join("L")}`,
      class: i === 0 ? "line first" : "line", style: `--weight: ${(1 - (i / rows.length) * 0.85).toFixed(2)}`});
    path.addEventListener("click", () => showCandidate(candidates.id[row]));
    path.addEventListener("mousemove", event => showTip(`#${candidates.id[row]}  ${withUnit(latencies[i])}`, event.clientX, event.clientY));
    path.addEventListener("mouseleave", hideTip);
    return path;
  });
  const count = el("output", {class: "count", role: "status"});
  const update = () => {
    let kept = 0;
    rows.forEach((row, i) => {
      const keeps = [...chosen].every(([gene, allele]) => genesByRow[i].get(gene) === allele);
      kept += keeps;
      lines[i].classList.toggle("faded", !keeps);
    });
    count.textContent = `${kept} of ${rows.length} lines`;
  };
  const alleleLabel = (column, i, value) => {
    const text = value === undefined ? "absent" : String(value);
    const mark = el("g", {class: "allele-label", role: "button", tabindex: "0",
      "aria-pressed": String(chosen.has(column.title) && chosen.get(column.title) === value),
      "aria-label": `${column.title} ${text}`, transform: `translate(${x(i)}, ${y(i, value)})`},
      el("rect", {x: -4, y: -9, width: Math.max(24, text.length * 7.2 + 10), height: 18, rx: 4}),
      el("circle", {r: 3}), el("text", {x: 8, y: 4}, text));
    const toggle = () => {
      const on = chosen.get(column.title) !== value || !chosen.has(column.title);
      for (const other of mark.parentNode.querySelectorAll(`[data-gene="${CSS.escape(column.title)}"]`))
        other.setAttribute("aria-pressed", "false");
      if (on) chosen.set(column.title, value);
      else chosen.delete(column.title);
      mark.setAttribute("aria-pressed", String(on));
      update();
    };
    mark.dataset.gene = column.title;
    mark.addEventListener("click", toggle);
    mark.addEventListener("keydown", event => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      toggle();
    });
    return mark;
  };
  const drawing = el("svg", {width, height: top + height + 24, viewBox: `0 0 ${width} ${top + height + 24}`, role: "group",
    "aria-label": `Parallel coordinates of the ${rows.length} fastest kernels`},
    el("g", {class: "lines"}, [...lines].reverse()),  // The fastest on top.
    el("g", {class: "axes"}, [...columns, {title: "latency, µs"}].map((column, i) => el("g", {},
      el("line", {x1: x(i), x2: x(i), y1: top, y2: top + height}),
      el("text", {x: x(i), y: i % 2 === 0 ? 14 : 30, class: "axis-title"}, column.title)))),
    el("g", {}, columns.flatMap((column, i) => column.values.map(value => alleleLabel(column, i, value))),
      [low, high].map(us => el("text", {x: x(columns.length) + 8, y: latencyY(us) + 4, class: "tick"}, microseconds(us)))));
  figure.append(
    el("figcaption", {}, count),
    el("div", {class: "scroll", tabindex: "0", role: "region", "aria-label": "Parallel coordinates, may scroll sideways"}, drawing),
    numbersOf("the best fifty", () => table(
      [{title: "candidate"}, {title: "latency, µs", number: true}, ...columns.map(column => ({title: column.title}))],
      rows.map((row, i) => [candidateLink(candidates.id[row]), microseconds(latencies[i]),
        ...columns.map(column => String(genesByRow[i].get(column.title) ?? "–"))]),
      "The fastest kernels and their alleles")));
  update();
}

function geneSection() {
  const families = data.families.filter(family => family.tried > 0)
    .sort((a, b) => (a.best_us ?? Infinity) - (b.best_us ?? Infinity));
  const show = family => {
    at("gene-table").replaceChildren(...geneTables(family));
    parallelCoordinates(family);
  };
  if (families.length === 0) {
    at("parallel-about").textContent = "No candidate was evaluated.";
    return;
  }
  const shown = families.find(family => family.family === view.family) ?? families[0];
  if (families.length > 1)
    at("family-choice").append(choice("family", "Family",
      families.map(family => [family.family, `${family.family} (${family.valid} valid of ${family.tried})`]),
      shown.family, name => {
        view.family = name;
        show(families.find(family => family.family === name));
      }));
  show(shown);
}
