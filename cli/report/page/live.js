// Follows the runs while they go on. The server tells when there is another page; this one then asks for its data and
// draws them. What the viewer has chosen stays: filters, folds, places, the focus, the open details.

const kRest = 9;  // Times as long as a drawing took, before the next.

const follower = {
  source: new EventSource("events"),
  newest: data.live.revision,  // What the server has.
  last: null,       // The data that came with the end.
  paused: false,
  asking: false,
  lost: false,
  problem: "",
  earliest: 0,      // No drawing before.
  pressed: false,   // A pointer button is down.
  changed: null,    // When the page was last drawn anew.
};

// --- what stays

const keyOf = one => [one.closest("[id]")?.id, one.tagName, one.name, one.value,
  one.dataset.key ?? one.getAttribute("aria-label") ?? one.textContent].join("|");
const kFocusable = "a, button, input, select, summary, [tabindex]";

/** Draws the page anew where the viewer is. */
function redraw() {
  const main = document.querySelector("main");
  const focused = main.contains(document.activeElement) ? keyOf(document.activeElement) : null;
  const marked = document.activeElement?.name === "sought" ? [document.activeElement.selectionStart, document.activeElement.selectionEnd] : null;
  const folds = [...main.querySelectorAll("details[open]")].map(keyOf);
  const scrolls = [...main.querySelectorAll(".scroll:not(.long)")].filter(one => one.scrollTop > 0 || one.scrollLeft > 0)
    .map(one => [keyOf(one), one.scrollTop, one.scrollLeft]);
  const places = new Map(plots.map(plot => [keyOf(plot.canvas), plot.current]));
  // What the viewer looks at stays where it is: the first section that does not end above the window.
  const sights = [...main.querySelectorAll("section")];
  const sight = sights.find(one => one.getBoundingClientRect().bottom > 1);
  const height = sight?.getBoundingClientRect().top;
  main.style.minHeight = `${main.offsetHeight}px`;  // Else the page would jump up while it is short.
  hideTip();
  drawPage();
  for (const fold of main.querySelectorAll("details")) if (folds.includes(keyOf(fold))) fold.open = true;
  for (const plot of plots) plot.current = places.get(keyOf(plot.canvas));
  if (focused !== null) {
    const again = [...main.querySelectorAll(kFocusable)].find(one => keyOf(one) === focused);
    again?.focus({preventScroll: true});
    if (marked) again?.setSelectionRange?.(...marked);
  }
  main.style.minHeight = "";
  if (sight) scrollBy({top: sight.getBoundingClientRect().top - height, behavior: "instant"});
  // Folds are filled a moment after they are opened.
  setTimeout(() => {
    for (const [key, top, left] of scrolls) {
      const box = [...main.querySelectorAll(".scroll")].find(one => keyOf(one) === key);
      if (box) [box.scrollTop, box.scrollLeft] = [top, left];
    }
  });
}

// --- the line that says how things stand

const kRateOver = 50;  // The newest candidates, which the rate is that of.

const stateText = el("span", {id: "live-state", role: "status"});
const standingText = el("span", {id: "live-standing"});
const standingBar = el("progress", {id: "live-progress", "aria-label": "Candidates evaluated"});
const changeText = el("span", {class: "count"});
const pauseButton = el("button", {type: "button", id: "live-pause", onclick: () => {
  follower.paused = !follower.paused;
  sayState();
  update();
}});
at("subject").after(el("p", {id: "live"}, stateText, standingBar, standingText, changeText, pauseButton));

/** Candidates a second of late; null: not known yet. */
function rateOf(place) {
  const seconds = candidates.seconds.filter((_, row) => candidates.run[row] === place).slice(-kRateOver);
  const took = seconds[seconds.length - 1] - seconds[0];
  return took > 0 ? (seconds.length - 1) / took : null;
}

/** "26 of 40 evaluated, 31.4 a minute, about 27 s left" of a run that goes on. */
function standingOf(run, place) {
  const rate = rateOf(place), limit = run.evaluation_limit;
  const since = follower.changed === null ? 0 : (new Date() - follower.changed) / 1000;
  const lasted = candidates.seconds.reduce((most, one, row) => (candidates.run[row] === place ? Math.max(most, one) : most), 0);
  const left = [limit === null || rate === null ? null : (limit - run.evaluated) / rate - since,
                run.time_limit_s === null ? null : run.time_limit_s - lasted - since].filter(one => one !== null);
  const least = Math.min(...left);
  return [`${grouped(run.evaluated)}${limit === null ? "" : ` of ${grouped(limit)}`} evaluated`,
    rate === null ? null : `${(60 * rate).toFixed(1)} a minute`,
    left.length === 0 || least < 0.5 ? null : `about ${duration(least)} left`].filter(part => part).join(", ");
}

function sayStanding() {
  const going = [...data.runs.entries()].filter(([, run]) => run.status === "running");
  const text = follower.last !== null ? "" : going.map(([place, run]) =>
    `${data.runs.length > 1 ? `run ${run.id}: ` : ""}${standingOf(run, place)}`).join("; ");
  if (standingText.textContent !== text) standingText.textContent = text;
  const limited = going.filter(([, run]) => run.evaluation_limit !== null);
  standingBar.hidden = text === "" || limited.length !== 1;
  if (standingBar.hidden) return;
  standingBar.max = limited[0][1].evaluation_limit;
  standingBar.value = Math.min(standingBar.max, limited[0][1].evaluated);
}
setInterval(sayStanding, 1000);

/** How the runs ended: [class, words]. */
function ending() {
  const ended = name => data.runs.filter(run => run.status === name).map(run => run.id);
  const failed = ended("failed"), interrupted = ended("interrupted");
  if (data.runs.length > 1)
    return [failed.length > 0 ? "lost" : "over", ["The runs are over", failed.length > 0 ? `${failed.join(", ")} failed` : null,
      interrupted.length > 0 ? `${interrupted.join(", ")} interrupted` : null].filter(part => part).join("; ")];
  if (failed.length > 0) return ["lost", "The run failed"];
  if (interrupted.length > 0) return ["over", `The run was interrupted: evo run --resume ${interrupted[0]} goes on with it`];
  return ["over", "The run is over"];
}

function sayState() {
  const over = !data.live.running;
  const [kind, text] = over && follower.last !== null ? ending()
    : follower.last ? ["over", "The server has ended: this page stays as it is"]
      : follower.lost ? ["lost", follower.source.readyState === EventSource.CLOSED
        ? "No connection: load the page again" : "No connection: trying again"]
        : follower.problem ? ["lost", follower.problem]
          : follower.paused ? ["paused", "Paused"]
            : over ? ending() : ["on", "Live"];
  at("live").className = kind;
  // A status that is said again is read again.
  if (stateText.textContent !== text) stateText.textContent = text;
  sayStanding();
  changeText.textContent = follower.changed === null ? "" : `last change ${follower.changed.toLocaleTimeString()}`;
  pauseButton.textContent = follower.paused ? "Go on" : "Pause";
  pauseButton.hidden = over && !follower.paused || follower.last !== null && !follower.paused;
}

// --- what comes

/** Whether a drawing would be in the viewer's way: a button held down, a text being marked. */
const viewerIsBusy = () => follower.pressed || !getSelection().isCollapsed;

function show(document) {
  const begun = performance.now();
  take(document);
  follower.changed = new Date();
  redraw();
  sayState();
  follower.earliest = performance.now() + kRest * (performance.now() - begun);
}

/** Shows what is newest, as soon as nothing speaks against it. */
async function update() {
  if (follower.asking || follower.paused || viewerIsBusy()) return;
  const wait = follower.earliest - performance.now();
  if (wait > 0) {
    follower.asking = true;
    await new Promise(done => setTimeout(done, wait));
    follower.asking = false;
    update();
  } else if (follower.last !== null) {
    if (follower.last !== data) show(follower.last);
  } else if (follower.newest > data.live.revision) {
    follower.asking = true;
    try {
      const answer = await fetch("data");
      if (!answer.ok) throw new Error(`the server answers with ${answer.status}`);
      const newest = await answer.json();
      if (!follower.paused && !viewerIsBusy()) show(newest);
    } catch {
      follower.earliest = performance.now() + 1000;
    }
    follower.asking = false;
    update();
  }
}

follower.source.addEventListener("open", () => {
  follower.lost = false;
  sayState();
});
follower.source.addEventListener("error", () => {
  follower.lost = follower.last === null;
  sayState();
});
follower.source.addEventListener("state", event => {
  const state = JSON.parse(event.data);
  follower.newest = state.revision;
  follower.problem = state.problem;
  sayState();
  update();
});
follower.source.addEventListener("end", event => {
  follower.source.close();
  follower.last = JSON.parse(event.data) ?? data;
  follower.lost = false;
  update();
  sayState();
});
addEventListener("pointerdown", () => {
  follower.pressed = true;
}, true);
for (const name of ["pointerup", "pointercancel"])
  addEventListener(name, () => {
    follower.pressed = false;
    setTimeout(update);  // After the click that comes of it.
  }, true);
document.addEventListener("selectionchange", () => update());
sayState();
