// What a language model was asked and what it answered, with the tokens, and the candidates that came of it.

const exchangeText = numbers => numbers.map(number => data.exchanges.lines[number]).join("\n");

/** Tokens and cost of all of them. */
function exchangeSums(asked) {
  const sum = name => asked.reduce((all, one) => all + one[name], 0);
  const made = new Set(asked.flatMap(one => one.candidates));
  const valid = [...made].filter(id => rowOf.has(id) && verdictOf(rowOf.get(id)) === "valid").length;
  const cost = sum("cost");
  return `${plural(asked.length, "question")} to ${[...new Set(asked.map(one => one.model))].join(", ")}: ` +
    `${grouped(sum("prompt_tokens"))} tokens asked, ${grouped(sum("answer_tokens"))} answered` +
    `${cost > 0 ? `, ${cost.toFixed(2)} paid` : ""}; ${asked.filter(one => one.failure).length} without a proposal; ` +
    `${plural(made.size, "candidate")} came of them, ${grouped(valid)} valid.`;
}

function showExchange(one) {
  const fold = (title, numbers, open) => el("details", {open}, el("summary", {}, title), numbers === null
    ? el("p", {class: "about"}, "It is too long for this page; the database has it (table exchange).")
    : el("pre", {class: "code wrapped"}, exchangeText(numbers)));
  openDetails(`Question ${one.number}`, [
    el("dl", {class: "facts"}, [["model", one.model], ["run", String(one.run)], ["asked (UTC)", one.at.replace("T", " ").slice(0, 19)],
      ["answered after", duration(one.seconds)], ["tokens", `${grouped(one.prompt_tokens)} asked, ${grouped(one.answer_tokens)} answered`],
      one.cost > 0 ? ["cost", one.cost.toFixed(4)] : null, one.failure ? ["no proposal", one.failure] : null,
      one.candidates.length > 0 ? ["candidates", one.candidates.flatMap(id => [candidateLink(id), " "])] : null].filter(fact => fact)
      .flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, value)])),
    fold("Answer", one.answer, true), fold("Prompt", one.prompt, false)]);
}

function exchangeSection() {
  const latencies = ids => ids.filter(id => rowOf.has(id)).map(id => candidates.latency_us[rowOf.get(id)]).filter(us => us !== null);
  const asked = data.exchanges.list.map((one, i) => {
    const reached = latencies(one.candidates);
    return {...one, number: i + 1, best: reached.length > 0 ? Math.min(...reached) : null};
  });
  at("exchanges").hidden = asked.length === 0;
  document.querySelector('nav a[href="#exchanges"]').hidden = asked.length === 0;
  if (asked.length === 0) return;
  at("exchange-sums").textContent = exchangeSums(asked);
  const figure = (title, name) => ({title, number: true, value: one => one[name], cell: one => grouped(one[name])});
  const list = new LongTable({name: "exchanges", caption: "Questions to language models", rows: asked, height: 340, columns: [
    {title: "question", value: one => one.number, cell: one => el("button", {type: "button", class: "link", onclick: () => showExchange(one)}, `#${one.number}`)},
    ...(data.runs.length > 1 ? [figure("run", "run")] : []),
    figure("tokens asked", "prompt_tokens"), figure("answered", "answer_tokens"),
    {title: "after, s", number: true, value: one => one.seconds, cell: one => one.seconds.toFixed(1)},
    {title: "candidates", value: one => one.candidates.join(" "), cell: one => one.candidates.flatMap(id => [candidateLink(id), " "]), least: 18},
    {title: "best, µs", number: true, value: one => one.best, cell: one => microseconds(one.best)},
    {title: "model", value: one => one.model}, {title: "no proposal", value: one => one.failure || null}]});
  at("exchange-table").append(list.element);
  list.goBack();
}
