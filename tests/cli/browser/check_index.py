#!/usr/bin/python3
"""check_index.py INDEX.html [--shots FOLDER]: opens an index of `evo report --all` in a headless Chromium and uses it.

Ends as check_report.py does.
"""

import argparse
import json
import pathlib
import sys

from check_report import WIDTHS, Check, open_browser


class IndexCheck(Check):
    def numbers(self):
        """The runs that are shown."""
        return self.script("return longTables.find(one => one.spec.name === 'runs').rows.map(run => run.id)")

    def seek(self, text):
        self.script("const field = document.querySelector('input[name=sought]'); field.value = arguments[0];"
                    "field.dispatchEvent(new Event('input'))", text)
        return self.numbers()

    def use(self, data):
        runs = data["runs"]
        self.expect(self.numbers() == [run["id"] for run in runs], f"of {len(runs)} runs {self.numbers()} are shown")
        for name in ("task", "status"):
            wanted = runs[0][name]
            expected = [run["id"] for run in runs if run[name] == wanted]
            self.expect(self.seek(wanted) == expected, f"the {name} {wanted} finds {self.numbers()}, not {expected}")
        self.expect(self.seek("nosuchword") == [], "a word that no run has finds runs")
        self.seek("")
        title = "[...document.querySelectorAll('#run-table .sort')].find(one => one.textContent.startsWith('best'))"
        self.script(f"{title}.click()")
        best = self.script("return longTables.find(one => one.spec.name === 'runs').rows.map(run => run.best_us)")
        known = [one for one in best if one is not None]
        self.expect(known == sorted(known) and best[:len(known)] == known, f"sorted by the best latency the runs are {best}")
        tasks = {run["task"] for run in runs}
        rows = self.script("return longTables.find(one => one.spec.name === 'tasks').rows.length")
        self.expect(rows == len(tasks), f"{rows} of {len(tasks)} tasks are shown")

    def follow(self, data):
        """Each page that the index names is there and leads back."""
        links = self.script("return [...document.querySelectorAll('main a')].map(one => one.href)")
        wanted = {run["page"] for run in data["runs"]} | {board["page"] for board in data["boards"]}
        self.expect(len(set(links)) == len(wanted), f"{len(set(links))} of {len(wanted)} pages are linked")
        for link in sorted(set(links)):
            self.browser.get(link)
            self.expect(self.script("return 'ready' in document.documentElement.dataset"), f"{link} does not open")
        self.script("document.querySelector('#subject a').click()")
        self.expect(self.script("return document.querySelectorAll('#run-table').length") == 1, "a page does not lead back")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("page")
    parser.add_argument("--shots", type=pathlib.Path, help="write screenshots into this folder")
    arguments = parser.parse_args()
    browser = open_browser()
    try:
        check = IndexCheck(browser, arguments.page)
        check.device(1400, 900, "light")
        check.open()
        data = json.loads(check.script("return document.getElementById('data').textContent"))
        check.use(data)
        check.accessible()
        if arguments.shots:
            arguments.shots.mkdir(parents=True, exist_ok=True)
        for scheme in ("light", "dark"):
            for name, width in WIDTHS.items():
                check.device(width, 900, scheme)
                check.open()
                check.fits(f"{name}, {scheme}")
                check.contrast()
                if arguments.shots:
                    check.shoot(arguments.shots / f"index_{name}_{scheme}.png", True)
        check.console()
        check.requests()
        check.device(1400, 900, "light")
        check.open()
        check.follow(data)
    finally:
        browser.quit()
    for line in check.wrong:
        print(line)
    sys.exit(1 if check.wrong else 0)


if __name__ == "__main__":
    main()
