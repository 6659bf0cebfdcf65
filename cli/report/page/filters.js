// Which candidates are shown: by verdict, by run, and by what the viewer types: words, genes and figures.

/** What a candidate can be asked for beside its genes, by the name that the viewer types. */
const kFigures = {
  id: row => candidates.id[row],
  latency: row => candidates.latency_us[row],
  error: row => (candidates.latency_us[row] === null ? null : candidates.relative_l2[row]),
  evaluation: row => candidates.evaluation[row],
  seconds: row => candidates.seconds[row],
  run: row => runOf(row).id,
  verdict: row => verdictOf(row),
  family: row => data.genomes[candidates.family[row]].family,
  operator: row => candidates.ops[candidates.op[row]],
};

/** A candidate's allele; undefined where it has none. */
function alleleOf(row, gene) {
  const column = data.genomes[candidates.family[row]].genes[gene];
  const place = column?.alleles[placeInFamily[row]] ?? -1;
  return place < 0 ? undefined : column.values[place];
}

/** Genes with more than one allele among the candidates, the most important first: [name, alleles]. */
function differingGenes() {
  const seen = new Map();
  for (const family of data.families) for (const {gene} of family.genes) seen.set(gene, new Set());
  for (const {genes} of data.genomes)
    for (const [gene, column] of Object.entries(genes)) {
      const alleles = seen.get(gene) ?? new Set();
      for (const place of new Set(column.alleles)) if (place >= 0) alleles.add(column.values[place]);
      seen.set(gene, alleles);
    }
  return [...seen].filter(([, alleles]) => alleles.size > 1).map(([gene, alleles]) => [gene, [...alleles].sort(compareValues)]);
}

/** Of each candidate what a word is sought in. Made when it is first needed. */
const searched = {of: null, texts: null};
function searchedText(row) {
  if (searched.of !== candidates) [searched.of, searched.texts] = [candidates, []];
  searched.texts[row] ??= [`#${candidates.id[row]}`, words(verdictOf(row)), verdictOf(row), kFigures.family(row), kFigures.operator(row),
    ...genesOf(row).map(([gene, allele]) => `${gene}=${allele}`), candidates.reasons[candidates.reason[row]]].join(" ").toLowerCase();
  return searched.texts[row];
}

const kComparisons = {
  "=": (a, b) => a === b,
  "!=": (a, b) => a !== b,
  "<": (a, b) => a < b,
  "<=": (a, b) => a <= b,
  ">": (a, b) => a > b,
  ">=": (a, b) => a >= b,
};

/** What a typed word asks of a candidate: "tile_m=128", "latency<12", "spill", "-spill". */
function conditionOf(word) {
  if (word.startsWith("-") && word.length > 1) {
    const condition = conditionOf(word.slice(1));
    return row => !condition(row);
  }
  const parts = word.match(/^([\w.]+)(!=|<=|>=|=|<|>)(.+)$/);
  const named = parts && (kFigures[parts[1]] ?? (data.genomes.some(one => parts[1] in one.genes) ? row => alleleOf(row, parts[1]) : null));
  if (!named) return row => searchedText(row).includes(word.toLowerCase());
  const compare = kComparisons[parts[2]], wanted = parts[3].toLowerCase(), number = Number(wanted);
  return row => {
    const value = named(row);
    if (value === null || value === undefined) return parts[2] === "!=";
    if (typeof value === "number" && !Number.isNaN(number)) return compare(value, number);
    return compare(String(value).toLowerCase(), wanted);
  };
}

/** The words of a text; quotes keep blanks together. */
const wordsOf = text => (text.match(/(?:"[^"]*"?|[^\s"])+/g) ?? []).map(word => word.replaceAll('"', "")).filter(word => word);

/** The rows that the viewer wants to see, in the data's order. */
function chosenRows() {
  const conditions = wordsOf(view.text).map(conditionOf);
  return [...candidates.id.keys()].filter(row => !view.hidden.has(verdictOf(row)) &&
    (view.run === "all" || candidates.run[row] === Number(view.run)) && conditions.every(condition => condition(row)));
}

/** A field to type what is sought, and a gene and an allele to choose, which are typed for the viewer. */
function searchField(changed) {
  const field = el("input", {type: "search", name: "sought", value: view.text, size: 30, spellcheck: "false", "data-key": "sought",
    placeholder: "stages=4 latency<12 -spill", "aria-describedby": "search-help"});
  let waiting;
  const typed = text => {
    clearTimeout(waiting);
    view.text = text;
    waiting = setTimeout(changed, 120);
  };
  field.addEventListener("input", () => typed(field.value));
  const genes = differingGenes();
  const alleles = el("select", {name: "allele", "aria-label": "Allele of the gene", hidden: true, onchange: () => {
    const word = `${gene.value}=${alleles.value}`;
    const others = wordsOf(field.value).filter(one => !one.startsWith(`${gene.value}=`));
    field.value = [...others, word].map(one => (/\s/.test(one) ? `"${one}"` : one)).join(" ");
    gene.value = "";
    alleles.hidden = true;
    typed(field.value);
    field.focus();
  }});
  const gene = el("select", {name: "gene", "aria-label": "Only candidates with an allele of this gene", onchange: () => {
    const [, values] = genes.find(([name]) => name === gene.value) ?? [null, []];
    alleles.hidden = values.length === 0;
    alleles.replaceChildren(el("option", {value: ""}, "allele"), ...values.map(value => el("option", {value: String(value)}, String(value))));
  }}, el("option", {value: ""}, "gene"), genes.map(([name]) => el("option", {value: name}, name)));
  return el("span", {class: "choice search", role: "search"},
    el("label", {}, el("span", {class: "legend-text"}, "Find "), field), genes.length > 0 ? gene : null, alleles,
    el("span", {id: "search-help", class: "unseen"},
      "Words that candidates must have; a gene or latency, error, evaluation, seconds, run, family, operator with = != < or >; a minus sign excludes"));
}
