// One candidate in detail.

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
  openDetails(`Candidate ${id}`, [
    el("dl", {class: "facts"}, facts.flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, value)])),
    el("h3", {}, `Genes of ${family}`),
    el("p", {class: "chips"}, genes.map(([gene, allele]) =>
      el("span", {class: "chip"}, `${gene} `, el("b", {}, String(allele))))),
    node?.source_change ? [el("h3", {}, `Changed lines from candidate ${node.parent}`), diffLines(node.source_change)] : null,
    node?.source ? el("details", {}, el("summary", {}, `Source, ${plural(node.source.length, "line")}`), sourceLines(node.source))
      : data.imported ? el("p", {class: "about"}, "It was imported without its source.")
        : el("p", {class: "about"}, "Its source: ", el("code", {}, `evo show ${id} --source`))]);
}

/** Opens the box for details with this title and content. */
function openDetails(title, content) {
  const dialog = at("details");
  const close = el("button", {type: "button", class: "close", "aria-label": "Close", onclick: () => dialog.close()}, "×");
  dialog.replaceChildren(el("header", {}, el("h2", {id: "details-title"}, title), close),
    ...content.flat().filter(part => part));
  if (!dialog.open) dialog.showModal();
  dialog.scrollTop = 0;
  close.focus({preventScroll: true});
}

at("details").addEventListener("click", event => {
  if (event.target === at("details")) at("details").close();  // The backdrop.
});
