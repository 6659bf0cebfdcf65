#!/usr/bin/python3
"""check_watch.py FOLDER EVO [--shots FOLDER]: opens pages of `evo watch` in a headless Chromium while their runs go on.

FOLDER has a database runs/evo.db: run 1 can be resumed, run 2 has no candidate. Ends as check_report.py does.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import time

from check_report import Check, open_browser

PATIENCE = 90  # Seconds for what a run or a page has to do.


class Watch:
    """An `evo watch`."""

    def __init__(self, evo, folder, *arguments):
        self.process = subprocess.Popen([evo, "watch", *arguments], cwd=folder, stdout=subprocess.PIPE, text=True)
        self.address = self.process.stdout.readline().strip()

    def end(self):
        self.process.terminate()
        return self.process.wait(timeout=PATIENCE)


class WatchCheck(Check):
    def __init__(self, browser, address):
        super().__init__(browser, __file__)
        self.page = address

    def requests(self):
        """The page may ask its own server and nobody else."""
        for entry in self.browser.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                url = message["params"]["request"]["url"]
                own = [self.page, self.page + "data", self.page + "events"]
                self.expect(url in own or url.startswith(("data:", "about:")), f"the page asked for {url}")

    def state(self):
        return self.script("return document.getElementById('live-state').textContent")

    def wait(self, what, condition):
        """Waits until a JavaScript expression holds. Returns the states that were seen meanwhile."""
        states = set()
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            states.add(self.state())
            if self.script(f"return {condition}"):
                return states
            time.sleep(0.05)
        self.expect(False, f"{what}: it has {self.script('return candidateCount')} candidates and says {self.state()!r}")
        return states

    def chosen(self):
        """What a viewer has chosen."""
        return self.script("""
            const plot = plots.find(one => one.figure.id === 'candidate-plot');
            return {
              axis: document.querySelector('input[name=axis]:checked').value,
              verdicts: [...document.querySelectorAll('input[name=verdict]:not(:checked)')].map(one => one.value),
              alleles: [...document.querySelectorAll('.allele-label[aria-pressed=true]')].map(one => one.getAttribute('aria-label')),
              faded: document.querySelectorAll('#parallel .line.faded').length > 0,
              folds: [...document.querySelectorAll('main details[open]')].map(one => one.closest('[id]').id + ' ' + one.dataset.key),
              rows: document.querySelectorAll('#best-by-evaluations details tbody tr').length > 0,
              place: plot.current,
              focus: document.activeElement.dataset.key ?? document.activeElement.tagName,
              details: document.getElementById('details').open ? document.getElementById('details-title').textContent : '',
              scrolled: Math.abs(document.getElementById('genes').getBoundingClientRect().top - window.wanted) < 3,
            };""")

    def choose(self):
        self.script("""
            document.querySelector('input[name=axis][value=seconds]').click();
            document.querySelector('input[name=verdict][value=wrong_answer]').click();
            document.querySelector('#parallel .allele-label').dispatchEvent(new Event('click'));
            document.querySelector('#best-by-evaluations details').open = true;
            const plot = plots.find(one => one.figure.id === 'candidate-plot');
            plot.canvas.focus({preventScroll: true});""")
        self.press("ArrowRight")
        self.press("ArrowRight")
        self.script("scrollTo({top: document.getElementById('genes').offsetTop, behavior: 'instant'});"
                    "window.wanted = document.getElementById('genes').getBoundingClientRect().top")


def resume(evo, folder, evaluations):
    return subprocess.Popen([evo, "run", "--resume", "1", "--evals", str(evaluations), "--quiet"], cwd=folder,
                            stdout=subprocess.DEVNULL)


def follow(check, evo, folder, shots):
    """A run that is over goes on, twice."""
    check.device(1200, 900, "light")
    check.open()
    check.expect(check.state() == "The run is over", f"the page of a run that is over says {check.state()!r}")
    check.choose()
    before = check.chosen()
    check.expect(before["scrolled"] and before["faded"] and before["folds"] and before["place"] == 1,
                 f"the page cannot be used: {before}")

    run = resume(evo, folder, 40)
    states = check.wait("a run that went on", "candidateCount === 40 && !data.live.running")
    check.expect(run.wait() == 0, "the run failed")
    check.expect("Live" in states, f"while the run went on the page said {states}")
    after = check.chosen()
    check.expect(after == before, f"the viewer had chosen {before}, now it is {after}")
    if shots:
        check.shoot(shots / "watch_chosen.png", False)
    check.script("document.querySelector('input[name=verdict][value=wrong_answer]').click()")
    check.points(check.script("return data"))

    # Paused, it stays as it is, also with open details; then it catches up.
    check.script("document.getElementById('live-pause').click(); showCandidate(candidates.id[0]);")
    check.expect(check.state() == "Paused", f"the paused page says {check.state()!r}")
    check.expect(resume(evo, folder, 45).wait() == 0, "the run failed")
    check.wait("a paused page", "follower.newest > data.live.revision")
    check.expect(check.script("return candidateCount") == 40, "the paused page went on")
    check.script("document.getElementById('live-pause').click()")
    check.wait("a page that was paused", "candidateCount === 45 && !data.live.running")
    check.expect(check.chosen()["details"] == "Candidate 1", "the details were closed")
    check.press("Escape")

    # Nothing is drawn while a text is marked.
    check.script("getSelection().selectAllChildren(document.querySelector('h2'))")
    check.expect(resume(evo, folder, 47).wait() == 0, "the run failed")
    check.wait("a page with a marked text", "follower.newest > data.live.revision")
    check.expect(check.script("return candidateCount") == 45, "the page was drawn under a marked text")
    check.script("getSelection().removeAllRanges()")
    check.wait("a page whose text is no longer marked", "candidateCount === 47 && !data.live.running")
    check.accessible()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("evo")
    parser.add_argument("--shots", type=pathlib.Path, help="write screenshots into this folder")
    arguments = parser.parse_args()
    browser = open_browser()
    watches, wrong = [], []
    try:
        watches.append(Watch(arguments.evo, arguments.folder, "1"))
        check = WatchCheck(browser, watches[0].address)
        follow(check, arguments.evo, arguments.folder, arguments.shots)
        check.console()
        check.requests()
        check.expect(watches[0].end() == 0, "evo watch did not end well")
        wrong += check.wrong

        watches.append(Watch(arguments.evo, arguments.folder, "2"))
        check = WatchCheck(browser, watches[1].address)
        for name, width in (("phone", 390), ("desktop", 1200)):
            check.device(width, 900, "dark")
            check.open()
            check.fits(f"an empty run, {name}")
        check.expect(check.state() == "Live", f"the page of a run that has begun says {check.state()!r}")
        check.expect("No candidate is valid yet" in check.script("return document.getElementById('answers').textContent"),
                     "the page of a run that has begun says that nothing was valid")
        check.accessible()
        if arguments.shots:
            check.shoot(arguments.shots / "watch_empty.png", False)
        watches[1].end()
        check.wait("a page whose server has ended", "document.getElementById('live-state').textContent.startsWith('The server has ended')")
        check.console()
        check.requests()
        wrong += check.wrong
    finally:
        browser.quit()
        for watch in watches:
            if watch.process.poll() is None:
                watch.process.kill()
    for line in wrong:
        print(line)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
