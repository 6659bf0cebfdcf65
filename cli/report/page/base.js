"use strict";
// The data, elements, formats and tables that every section uses. Texts of the data reach the page as text nodes only.

let data, candidates, candidateCount, modelled, best, verdictNames;
let stageOf;  // Of each verdict, by its name.
let rowOf;  // A candidate's place in the columns, by its id.
let placeInFamily;  // Of each candidate among those of its family: where its alleles stand in the family's columns.
let lineageOf;  // The nodes of the tree, by their candidates.

/** Makes a document what the page shows from the next drawing on. */
function take(document) {
  data = document;
  candidates = data.candidates;
  candidateCount = candidates.id.length;
  modelled = data.timing === "modelled";
  best = data.best;
  verdictNames = data.verdicts.map(one => one.name);
  stageOf = new Map(data.verdicts.map(one => [one.name, one.stage]));
  rowOf = new Map(candidates.id.map((id, row) => [id, row]));
  const members = data.genomes.map(() => 0);
  placeInFamily = candidates.family.map(family => members[family]++);
  lineageOf = new Map(data.lineage.nodes.map(node => [node.candidate, node]));
}

/** What the viewer has chosen: it outlasts a drawing. */
const view = {
  axis: "evaluation",  // Of the plots of candidates: or "seconds".
  hidden: new Set(),   // Names of verdicts that are not shown.
  run: "all",          // Or a run's place.
  family: null,        // Its name; null: that of the fastest.
  alleles: new Map(),  // By family: the allele that lines of the best fifty must have, by gene.
  text: "",            // What shown candidates must say (filters.js).
  zooms: new Map(),    // By plot: what is shown of it.
  tables: new Map(),   // By long table: its order and its place.
  folded: new Set(),   // Candidates of the whole tree whose descendants are hidden.
};

// --- elements

/** An element with attributes, listeners ("onclick") and children: elements or texts. Null children are left out. */
function el(name, attributes = {}, ...children) {
  const svg = ["svg", "g", "path", "line", "circle", "text", "rect"].includes(name);
  const made = svg ? document.createElementNS("http://www.w3.org/2000/svg", name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else made.setAttribute(key, value === true ? "" : value);
  }
  for (const child of children.flat()) if (child !== null && child !== undefined) made.append(child);
  return made;
}

const at = id => document.getElementById(id);

// --- formats

/** Four significant digits without an exponent, as evo prints latencies. */
function microseconds(value) {
  if (value === null || value === undefined) return "–";
  return value.toFixed(Math.max(0, 3 - Math.floor(Math.log10(value))));
}

const withUnit = value => (value === null ? "–" : `${microseconds(value)} µs`);
const percent = share => `${(share * 100).toFixed(share < 0.0995 ? 1 : 0)} %`;
const times = ratio => `${ratio.toFixed(ratio < 10 ? 2 : 1)}×`;
const grouped = number => number.toLocaleString("en-US");
const plural = (number, noun) => `${grouped(number)} ${noun}${number === 1 ? "" : "s"}`;

/** Three significant digits; small errors with an exponent. */
function errorText(value) {
  if (value === null || value === undefined) return "–";
  if (value === 0) return "0";
  return value < 1e-3 ? value.toExponential(2) : value.toPrecision(3);
}

function duration(seconds) {
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  if (seconds < 60) return `${Math.round(seconds)} s`;
  const two = number => String(number).padStart(2, "0");
  const minutes = Math.floor(Math.round(seconds) / 60);
  if (minutes < 60) return `${minutes} min ${two(Math.round(seconds) % 60)} s`;
  return `${Math.floor(minutes / 60)} h ${two(minutes % 60)} min`;
}

const words = verdict => verdict.replaceAll("_", " ");
const byName = (a, b) => (a < b ? -1 : a > b ? 1 : 0);
const compareValues = (a, b) => (typeof a === "number" && typeof b === "number" ? a - b : byName(String(a), String(b)));

// --- verdicts: one colour of Okabe and Ito's palette for each stage at which candidates end

const stageClass = verdict => `stage-${stageOf.get(verdict)}`;

/** A colour of the style sheet in the theme that is shown now. */
const colour = name => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
const verdictColour = verdict => colour(stageClass(verdict));

/** A mark and the verdict's name: never the colour alone. */
function verdictLabel(verdict) {
  return el("span", {class: "verdict"}, el("i", {class: `dot ${stageClass(verdict)}`}), words(verdict));
}

// --- candidates

const verdictOf = row => verdictNames[candidates.verdict[row]];
const runOf = row => data.runs[candidates.run[row]];

/** [gene, allele] of the active genes, by name. */
function genesOf(row) {
  const genes = [];
  for (const [gene, column] of Object.entries(data.genomes[candidates.family[row]].genes)) {
    const place = column.alleles[placeInFamily[row]];
    if (place >= 0) genes.push([gene, column.values[place]]);
  }
  return genes.sort((a, b) => byName(a[0], b[0]));
}

// --- tables

/** `columns`: {title, number}; `rows`: arrays of cells, elements or texts. */
function table(columns, rows, caption) {
  const cells = row => row.map((cell, i) => el("td", {class: columns[i].number ? "number" : null}, cell));
  return el("div", {class: "scroll", tabindex: "0", role: "region", "aria-label": caption},
    el("table", {}, el("caption", {class: "unseen"}, caption),
      el("thead", {}, el("tr", {}, columns.map(one =>
        el("th", {scope: "col", class: one.number ? "number" : null}, one.title)))),
      el("tbody", {}, rows.map(row => el("tr", {}, cells(row))))));
}

/** The numbers of a plot behind a fold, made when it is opened. `make` gives the table. */
function numbersOf(name, make) {
  const fold = el("details", {class: "numbers", "data-key": name}, el("summary", {}, `Numbers: ${name}`));
  fold.addEventListener("toggle", () => {
    if (!fold.open) return;
    fold.querySelector(".scroll")?.remove();
    fold.append(make());
  });
  return fold;
}

/** Radio buttons. `choices`: [value, text]; `chosen` is called with a value. */
function choice(name, label, choices, value, chosen) {
  return el("fieldset", {class: "choice"}, el("legend", {}, label),
    choices.map(([one, text]) => el("label", {},
      el("input", {type: "radio", name, value: one, checked: one === value, onchange: () => chosen(one)}), text)));
}
