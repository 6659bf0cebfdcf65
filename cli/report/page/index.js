// The index: every run, and what the runs add up to by ranking, task, device and database.

data = JSON.parse(at("data").textContent);
const runs = data.runs;

const pageLink = (page, text) => (page ? el("a", {href: page}, text) : text);
const sumOf = (group, name) => group.reduce((sum, run) => sum + run[name], 0);

/** Groups of runs by what `name` says of them, the largest first: [what it says, runs]. */
function groupsBy(name) {
  const groups = new Map();
  for (const run of runs) groups.set(name(run), [...(groups.get(name(run)) ?? []), run]);
  return [...groups].sort((a, b) => b[1].length - a[1].length);
}

const counted = (title, name) => ({title, number: true, value: ([, group]) => sumOf(group, name), cell: ([, group]) => grouped(sumOf(group, name))});
const counts = [{title: "runs", number: true, value: ([, group]) => group.length}, counted("candidates", "evaluated"), counted("valid", "valid"),
  {title: "newest (UTC)", value: ([, group]) => group.map(run => run.started_at).sort().pop().replace("T", " ").slice(0, 16)}];
const differing = (group, name) => [...new Set(group.map(run => run[name]))];

/** A table in its holder. Its height is what its rows need, up to the usual one. */
function place(holder, spec) {
  const made = new LongTable(spec);
  at(holder).replaceChildren(made.element);
  made.draw();
  return made;
}

function runColumns() {
  const text = (title, name, least) => ({title, value: run => run[name], least});
  return [
    {title: "run", number: true, value: run => run.id, cell: run => pageLink(run.page, String(run.id))},
    text("task", "task"),
    {title: "best, µs", number: true, value: run => run.best_us, cell: run => microseconds(run.best_us)},
    {title: "status", value: run => (run.problem ? `no page: ${run.problem}` : run.status), least: 12},
    text("device", "device"), text("objective", "objective"),
    {title: "started (UTC)", value: run => run.started_at, cell: run => run.started_at.replace("T", " ").slice(0, 16)},
    {title: "evaluated", number: true, value: run => run.evaluated, cell: run => grouped(run.evaluated)},
    {title: "valid", number: true, value: run => run.valid, cell: run => grouped(run.valid)},
    text("timing", "timing"), text("strategy", "strategy"),
    {title: "seed", number: true, value: run => run.seed},
    ...(data.databases.length > 1 ? [text("database", "database")] : []),
    text("evo", "evo_version"), text("command", "command_line", 40)];
}

const statement = run => [run.id, run.task, run.device, run.objective, run.status, run.strategy, run.database, run.command_line].join(" ").toLowerCase();

/** A list of what runs may say: the chosen one stays alone. */
function chooser(name, label, changed) {
  const values = [...new Set(runs.map(run => run[name]))].sort(byName);
  return values.length < 2 ? null : el("label", {class: "choice"}, el("span", {class: "legend-text"}, `${label} `),
    el("select", {name, onchange: event => changed(name, event.target.value)}, el("option", {value: ""}, "all"),
      values.map(value => el("option", {value}, value))));
}

function runSection() {
  const all = place("run-table", {name: "runs", caption: "All runs", columns: runColumns(), rows: runs, height: 520});
  const chosen = new Map();
  const count = el("output", {class: "count", role: "status"});
  let sought = "";
  const update = () => {
    const parts = sought.toLowerCase().split(/\s+/).filter(part => part);
    const shown = runs.filter(run => [...chosen].every(([name, value]) => value === "" || run[name] === value) &&
      parts.every(part => statement(run).includes(part)));
    all.show(shown);
    count.textContent = shown.length === runs.length ? `${grouped(runs.length)} shown` : `${grouped(shown.length)} of ${grouped(runs.length)} shown`;
  };
  const choose = (name, value) => {
    chosen.set(name, value);
    update();
  };
  at("run-filters").append(...[
    el("label", {class: "choice"}, el("span", {class: "legend-text"}, "Find "), el("input", {type: "search", name: "sought", oninput: event => {
      sought = event.target.value;
      update();
    }})),
    chooser("task", "Task", choose), chooser("device", "Device", choose), chooser("status", "Status", choose), chooser("database", "Database", choose),
    all.saveButton("runs.csv"), count].filter(part => part));
  update();
}

at("subject").textContent = `${plural(runs.length, "run")} of ${plural(differing(runs, "task").length, "task")} on ` +
  `${plural(differing(runs, "device").length, "device")}, ${plural(sumOf(runs, "evaluated"), "candidate")}, ` +
  `${plural(data.databases.length, "database")}`;
at("made").textContent = `Made by evo ${data.evo}.`;
place("board-table", {name: "boards", caption: "Rankings", rows: data.boards, columns: [
  {title: "task", value: board => board.task, cell: board => pageLink(board.page, board.task)},
  {title: "best, µs", number: true, value: board => board.best_us, cell: board => microseconds(board.best_us)},
  {title: "device", value: board => board.device}, {title: "objective", value: board => board.objective},
  {title: "timing", value: board => board.timing},
  {title: "by run", number: true, value: board => board.best_run},
  {title: "runs", number: true, value: board => board.runs.length},
  {title: "candidates", number: true, value: board => board.evaluated, cell: board => grouped(board.evaluated)},
  ...(data.databases.length > 1 ? [{title: "database", value: board => board.database}] : [])]});
runSection();
place("task-table", {name: "tasks", caption: "Tasks", rows: groupsBy(run => run.task), columns: [{title: "task", value: ([task]) => task}, ...counts,
  {title: "devices", value: ([, group]) => differing(group, "device").join(", "), least: 30}]});
place("device-table", {name: "devices", caption: "Devices", rows: groupsBy(run => run.device), columns: [{title: "device", value: ([device]) => device}, ...counts,
  {title: "tasks", value: ([, group]) => differing(group, "task").join(", "), least: 30}]});
place("database-table", {name: "databases", caption: "Databases", rows: groupsBy(run => run.database),
  columns: [{title: "database", value: ([database]) => database, least: 30}, ...counts]});
document.documentElement.dataset.ready = "";
