#!/usr/bin/python3
"""check_report.py PAGE.html [--shots FOLDER]: opens a page of `evo report -o` in a headless Chromium and uses it.

Ends with 0 when all is well and with 1 and a line for each thing that is wrong. Ends with 77 where there is no Chromium,
no chromedriver or no selenium (Debian: chromium, chromium-driver, python3-selenium).
"""

import argparse
import base64
import csv
import io
import json
import pathlib
import shutil
import sys
import time

WIDTHS = {"phone": 390, "tablet": 1024, "desktop": 1600}


def skip(why):
    print(f"skipped: {why}")
    sys.exit(77)


def open_browser():
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    driver = shutil.which("chromedriver")
    if not chromium or not driver:
        skip("no chromium and chromedriver")
    try:
        from selenium import webdriver
        from selenium.webdriver.chrome.service import Service
    except ImportError:
        skip("no selenium for " + sys.executable)
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    # As root, and in containers with a small /dev/shm, Chromium starts with these only.
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--hide-scrollbars"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    browser = webdriver.Chrome(options=options, service=Service(driver))
    browser.set_page_load_timeout(30)
    return browser


class Check:
    def __init__(self, browser, page):
        self.browser = browser
        self.page = pathlib.Path(page).resolve().as_uri()
        self.wrong = []

    def expect(self, holds, what):
        if not holds:
            self.wrong.append(what)

    def script(self, code, *arguments):
        return self.browser.execute_script(code, *arguments)

    def device(self, width, height, scheme):
        self.browser.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride", {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500})
        self.browser.execute_cdp_cmd(
            "Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]})

    def open(self):
        """Returns the seconds until the page is drawn."""
        begun = time.monotonic()
        self.browser.get(self.page)
        # Two frames: what the scripts have made is on the screen.
        self.browser.execute_async_script(
            "const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(done))")
        took = time.monotonic() - begun
        self.expect(self.script("return 'ready' in document.documentElement.dataset"), "the page's script came to no end")
        return took

    def console(self):
        for entry in self.browser.get_log("browser"):
            self.expect(False, f"console: {entry['message']}")

    def requests(self):
        """The page may load itself and nothing else."""
        for entry in self.browser.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                url = message["params"]["request"]["url"]
                self.expect(url == self.page or url.startswith(("data:", "about:")), f"the page asked for {url}")

    def data(self):
        return json.loads(self.script("return document.getElementById('data').textContent"))

    def points(self, data):
        """Every plot has the points that the data have."""
        shown = {figure: int(points) for figure, points in self.script(
            "return [...document.querySelectorAll('[data-points]')].map(one => [one.id, one.dataset.points])")}
        latencies = data["candidates"]["latency_us"]
        valid = [i for i, verdict in enumerate(data["candidates"]["verdict"]) if data["verdicts"][verdict]["name"] == "valid"]
        candidates = len(latencies)
        errors = sum(1 for us, error in zip(latencies, data["candidates"]["relative_l2"]) if us is not None and error)
        kept = sum(1 for one in data["front"] if one in data["candidates"]["id"])
        curve = sum(one is not None for run in data["by_evaluations"]["runs"] for one in run)
        expected = {
            "front-plot": errors + len(data["rivals"]) + kept if errors else 0,
            "floors": sum(len(floor["kernels"]) for floor in data["floors"]),
            "lineage-tree": len(data["lineage"]["nodes"]),
            "prediction-plot": len(data["predictions"]["candidate"]),
            "phases": len(data["runs"]),
        }
        for figure, points in expected.items():
            if figure == "prediction-plot" and points:
                points = points * 2 + 2  # And the line of equal latencies.
            self.expect(shown.get(figure) == points, f"{figure} has {shown.get(figure)} points, not {points}")
        for figure in ("best-by-evaluations", "best-by-seconds"):
            self.expect(shown.get(figure, 0) >= curve, f"{figure} has {shown.get(figure)} points")
        plotted = self.script("return plots.filter(one => one.figure.id === 'candidate-plot').map(one => one.points.length)")
        self.expect(sum(plotted) == candidates, f"{sum(plotted)} of {candidates} candidates are plotted")
        self.expect(plotted[0] == len(valid), f"{plotted[0]} of {len(valid)} valid candidates are plotted")
        self.expect(shown.get("parallel", 0) > 0 or not data["best"], "no parallel coordinates")
        self.expect(self.script("return document.querySelectorAll('#parallel .line').length") == shown.get("parallel"),
                    "parallel coordinates lack lines")
        # Something is painted on each canvas.
        blank = self.script(
            "return plots.filter(one => { const c = one.uplot.ctx.canvas; const pixels ="
            " one.uplot.ctx.getImageData(0, 0, c.width, c.height).data;"
            " return !pixels.some(value => value !== 0); }).length")
        self.expect(blank == 0, f"{blank} plots are blank")

    def use(self, data):
        """Filters and clicks."""
        if not data["best"]:
            self.expect("No candidate was valid" in self.script("return document.getElementById('answers').textContent"),
                        "the first screen does not say that nothing was valid")
            return
        plotted = "return plots.filter(one => one.figure.id === 'candidate-plot').reduce((sum, one) => sum + one.points.length, 0)"
        every = self.script(plotted)
        box = "document.querySelector('input[name=verdict][value=valid]')"
        valid = self.script(f"return plots.find(one => one.figure.id === 'candidate-plot').points.length")
        self.script(f"{box}.click()")
        self.expect(self.script(plotted) == every - valid, "the filter of verdicts hides nothing")
        self.script(f"{box}.click()")
        self.expect(self.script(plotted) == every, "the filter of verdicts does not come back")
        first_x = "return plots.find(one => one.figure.id === 'candidate-plot').points.map(one => one.x)"
        before = self.script(first_x)
        self.script("document.querySelector('input[name=axis][value=seconds]').click()")
        self.expect(self.script(first_x) != before, "the axis of time changes nothing")
        self.script("document.querySelector('input[name=axis][value=evaluation]').click()")
        if len(data["runs"]) > 1:
            self.script("const s = document.querySelector('select[name=run]'); s.value = '0'; s.dispatchEvent(new Event('change'))")
            self.expect(self.script(plotted) == data["runs"][0]["evaluated"], "the filter of runs is wrong")
            self.script("const s = document.querySelector('select[name=run]'); s.value = 'all'; s.dispatchEvent(new Event('change'))")

        title = "return document.getElementById('details').open ? document.getElementById('details-title').textContent : ''"
        # A click on a point, where the plot has drawn it.
        self.mouse(*self.place(0))
        self.expect(self.script(title).startswith("Candidate "), "a click on a point opens nothing")
        self.press("Escape")
        self.expect(self.script(title) == "", "Escape does not close the details")
        # The same with the keyboard.
        self.script("plots.find(one => one.figure.id === 'candidate-plot').canvas.focus()")
        self.press("ArrowRight")
        self.expect(not self.script("return document.getElementById('tip').hidden"), "an arrow key shows no point")
        self.press("Enter")
        self.expect(self.script(title).startswith("Candidate "), "Enter opens nothing")
        self.press("Escape")
        # A kernel of the tree: changed lines and source.
        nodes = data["lineage"]["nodes"]
        changed = next((i for i, node in enumerate(nodes) if node["source_change"]), None)
        if changed is not None:
            self.script("const id = arguments[0]; [...document.querySelectorAll('#lineage-tree .node')]"
                        ".find(one => one.querySelector('.node-id').textContent === '#' + id).click()", nodes[changed]["candidate"])
            self.expect(self.script("return document.querySelectorAll('#details .added, #details .removed').length") > 0,
                        "the tree shows no changed lines")
            lines = self.script("document.querySelector('#details details').open = true;"
                                "return document.querySelectorAll('#details .numbered span').length")
            self.expect(lines == len(nodes[changed]["source"]), f"the source has {lines} lines")
            self.press("Escape")
        # An allele of the best fifty.
        self.script("document.querySelector('#parallel .allele-label').dispatchEvent(new Event('click'))")
        self.expect(self.script("return document.querySelectorAll('#parallel .line.faded').length") > 0,
                    "choosing an allele fades no line")
        self.script("document.querySelector('#parallel .allele-label').dispatchEvent(new Event('click'))")
        self.expect(self.script("return document.querySelectorAll('#parallel .line.faded').length") == 0,
                    "the allele stays chosen")
        # The numbers behind each plot.
        empty = self.script(
            "const folds = [...document.querySelectorAll('details.numbers')]; folds.forEach(one => { one.open = true;"
            " one.dispatchEvent(new Event('toggle')); });"
            "const empty = folds.filter(one => !one.querySelector('tbody tr')).length;"
            "folds.forEach(one => { one.open = false; }); return empty")
        self.expect(empty == 0, f"{empty} tables of numbers are empty")

    def place(self, point):
        """Where the first plot of candidates has drawn a point, by its place among the points."""
        return self.script(
            "const plot = plots.find(one => one.figure.id === 'candidate-plot'); const point = plot.points.at(arguments[0]);"
            "plot.canvas.scrollIntoView({block: 'center', behavior: 'instant'});"
            "const box = plot.uplot.over.getBoundingClientRect();"
            "return [box.left + plot.uplot.valToPos(point.x, 'x'), box.top + plot.uplot.valToPos(point.y, 'y')]", point)

    def mouse(self, x, y, to=None, clicks=1):
        """A click, or a drag to another place."""
        steps = [("mouseMoved", x, y), ("mousePressed", x, y)]
        steps += [("mouseMoved", (x + to[0]) / 2, (y + to[1]) / 2), ("mouseMoved", *to)] if to else []
        steps += [("mouseReleased", *(to or (x, y)))]
        for kind, left, top in steps:
            pressed = kind != "mouseMoved" or (to and (left, top) != (x, y))
            self.browser.execute_cdp_cmd("Input.dispatchMouseEvent", {
                "type": kind, "x": left, "y": top, "button": "left" if pressed else "none", "buttons": 1 if pressed and kind != "mouseReleased" else 0,
                "clickCount": clicks})

    def settle(self):
        """Lets the page do what it has put off."""
        self.browser.execute_async_script("const done = arguments[0]; setTimeout(() => requestAnimationFrame(() => done()), 200)")

    def zoom(self):
        """A drag shows a part of a plot, a double click all of it; the keyboard does the same."""
        ranges = ("const plot = plots.find(one => one.figure.id === 'candidate-plot');"
                  "return ['x', 'y'].map(name => [plot.uplot.scales[name].min, plot.uplot.scales[name].max])")
        whole = self.script(ranges)
        left, top, width, height = self.script(
            "const plot = plots.find(one => one.figure.id === 'candidate-plot');"
            "plot.canvas.scrollIntoView({block: 'center', behavior: 'instant'});"
            "const box = plot.uplot.over.getBoundingClientRect(); return [box.left, box.top, box.width, box.height]")
        self.mouse(left + width * 0.25, top + height * 0.25, to=(left + width * 0.75, top + height * 0.75))
        self.settle()
        part = self.script(ranges)
        spans = [[high - low for low, high in one] for one in (whole, part)]
        self.expect(abs(spans[1][0] / spans[0][0] - 0.5) < 0.05, f"after a drag over the half the plot shows {part} of {whole}")
        self.expect(part[1][0] > whole[1][0] and part[1][1] < whole[1][1], f"a drag leaves the latencies at {part[1]} of {whole[1]}")
        others = self.script("return plots.filter(one => one.figure.id === 'candidate-plot').map(one => one.uplot.scales.x.max)")
        self.expect(max(others) - min(others) < 1e-9, f"the two plots of candidates end at {others}")
        self.expect(self.script("return !document.getElementById('details').open"), "a drag opens details")
        for clicks in (1, 2):
            self.mouse(left + 3, top + 3, clicks=clicks)
        self.settle()
        self.expect(self.script(ranges) == whole, "a double click does not show the whole plot again")
        self.script("plots.find(one => one.figure.id === 'candidate-plot').canvas.focus()")
        self.press("+")
        self.expect(self.script(ranges) != whole, "the plus key does not zoom")
        self.press("0")
        self.expect(self.script(ranges) == whole, "the zero key does not show the whole plot")

    def seek(self, text):
        self.script("const field = document.querySelector('input[name=sought]'); field.value = arguments[0];"
                    "field.dispatchEvent(new Event('input'))", text)
        self.settle()
        return self.script("return longTables.find(one => one.spec.name === 'candidates').rows.map(row => candidates.id[row])")

    def search(self, data):
        """What is typed, and a gene that is chosen, decide which candidates are shown, in the plots and in the table."""
        columns = data["candidates"]
        count = len(columns["id"])
        names = [data["verdicts"][verdict]["name"] for verdict in columns["verdict"]]
        fast = sorted(us for us in columns["latency_us"] if us is not None)
        limit = fast[len(fast) // 2]
        expected = {i for i, us in zip(columns["id"], columns["latency_us"]) if us is not None and us <= limit}
        self.expect(set(self.seek(f"latency<={limit}")) == expected, "a bound on latency chooses the wrong candidates")
        expected = {i for i, name in zip(columns["id"], names) if name != "valid"}
        self.expect(set(self.seek("-verdict=valid")) == expected, "a minus sign does not exclude")
        self.expect(self.seek("nosuchword") == [], "a word that nobody has chooses candidates")
        self.expect(self.script("return plots.find(one => one.figure.id === 'candidate-plot').points.length") == 0,
                    "the plot shows what is not sought")
        family = data["genomes"][0]
        gene = next((name for name, column in family["genes"].items()
                     if len({place for place in column["alleles"] if place >= 0}) > 1), None)
        if gene and len(data["genomes"]) == 1:
            column = family["genes"][gene]
            place = next(one for one in column["alleles"] if one >= 0)
            value = column["values"][place]
            text = str(value).lower() if isinstance(value, bool) else str(value)
            self.seek("")
            self.script("const gene = document.querySelector('select[name=gene]'); gene.value = arguments[0];"
                        "gene.dispatchEvent(new Event('change')); const allele = document.querySelector('select[name=allele]');"
                        "allele.value = arguments[1]; allele.dispatchEvent(new Event('change'))", gene, text)
            self.settle()
            found = self.script("return longTables.find(one => one.spec.name === 'candidates').rows.map(row => candidates.id[row])")
            self.expect(set(found) == {i for i, one in zip(columns["id"], column["alleles"]) if one == place},
                        f"{gene} = {text} chooses the wrong candidates")
        self.expect(len(self.seek("")) == count, "without a word not all candidates are shown")

    def long_table(self, data):
        """Only rows in sight are in the page; a column sorts them; CSV has all."""
        columns = data["candidates"]
        count = len(columns["id"])
        own = "longTables.find(one => one.spec.name === 'candidates')"
        drawn = self.script(f"return {own}.body.querySelectorAll('[data-row]').length")
        self.expect(0 < drawn <= min(count, 60), f"{drawn} of {count} rows are in the page")
        self.script(f"{own}.box.scrollTop = 1e9")
        self.settle()
        last = self.script(f"return [...{own}.body.querySelectorAll('[data-row]')].at(-1).dataset.row")
        self.expect(int(last) == count - 1, f"scrolled to its end the table shows row {last}")
        self.script(f"{own}.box.scrollTop = 0; {own}.head.querySelector('button').click()")
        first = self.script(f"return candidates.id[{own}.rows[0]]")
        self.script(f"{own}.head.querySelector('button').click()")
        last = self.script(f"return candidates.id[{own}.rows[0]]")
        self.expect((first, last) == (min(columns["id"]), max(columns["id"])), f"sorted by number the first ones are {first} and {last}")
        self.expect(self.script(f"return {own}.head.querySelector('th').getAttribute('aria-sort')") == "descending",
                    "the sorted column does not say so")
        rows = list(csv.reader(io.StringIO(self.script(f"return {own}.csv()"))))
        self.expect(len(rows) == count + 1 and all(len(row) == len(rows[0]) for row in rows), "the CSV has not all rows")
        self.expect(int(rows[1][0]) == max(columns["id"]), "the CSV is not in the order shown")
        self.script(f"{own}.sortBy(0); {own}.saveButton('candidates.csv').click()")  # The console tells if it is not allowed.

    def tree(self, data):
        """The whole tree has every candidate once, parents above their children; it folds."""
        if not self.script("return document.querySelectorAll('#whole-tree .long').length"):
            return
        own = "longTables.find(one => one.spec.name === 'whole tree')"
        rows = self.script(f"return {own}.rows.map(row => [candidates.id[row], candidates.parent[row]])")
        seen = set()
        known = set(data["candidates"]["id"])
        for candidate, parent in rows:
            self.expect(parent in seen or parent not in known, f"candidate {candidate} stands above its parent")
            seen.add(candidate)
        self.expect(seen == known, f"the tree has {len(seen)} of {len(known)} candidates")
        self.script("[...document.querySelectorAll('#whole-tree .action')].find(one => one.textContent === 'Fold all').click()")
        folded = self.script(f"return {own}.rows.length")
        self.expect(folded < len(rows), "the tree does not fold")
        self.script("[...document.querySelectorAll('#whole-tree .action')].find(one => one.textContent === 'Unfold all').click()")
        self.expect(self.script(f"return {own}.rows.length") == len(rows), "the tree does not unfold")

    def explained(self, data):
        """What the cost model says, and the roofline."""
        for kernel in data["explanations"]["kernels"]:
            for shape in kernel["shapes"]:
                for launch in shape["launches"]:
                    share = sum(line["share"] for line in launch["lines"])
                    self.expect(not launch["lines"] or 0.3 < share <= 1.001, f"the lines of {launch['kernel']} have {share} of the time")
        expected = sum(len(shape["launches"]) for kernel in data["explanations"]["kernels"] for shape in kernel["shapes"])
        self.expect(self.script("return document.querySelectorAll('#explanations .launch').length") == expected, "launches are not explained")
        self.expect(expected > 0 or bool(self.script("return document.getElementById('model-about').textContent")),
                    "the page does not say why nothing is explained")

    def press(self, key):
        text = {"text": "\r"} if key == "Enter" else {}
        codes = {"Escape": 27, "ArrowRight": 39, "Enter": 13, "+": 187, "0": 48}
        for kind in ("keyDown", "keyUp"):
            self.browser.execute_cdp_cmd("Input.dispatchKeyEvent", {
                "type": kind, "key": key, "code": key, "windowsVirtualKeyCode": codes[key], **(text if kind == "keyDown" else {})})

    def accessible(self):
        """What a screen reader needs: names of plots and controls, one title, headings in order."""
        self.expect(self.script("return document.querySelectorAll('h1').length") == 1, "there is not one title")
        unnamed = self.script(
            "return [...document.querySelectorAll('button, input, select, [role=img], [role=application], [role=button]')]"
            ".filter(one => !(one.getAttribute('aria-label') || one.textContent.trim() || one.labels?.length)).length")
        self.expect(unnamed == 0, f"{unnamed} controls or plots have no name")
        self.expect(self.script("return document.documentElement.lang") == "en", "the page has no language")
        strange = self.script(
            "const walker = document.createTreeWalker(document.querySelector('main'), NodeFilter.SHOW_TEXT); const found = [];"
            "while (walker.nextNode()) if (/^(null|undefined|NaN|\\[object)/.test(walker.currentNode.data.trim()))"
            " found.push(walker.currentNode.data); return found")
        self.expect(not strange, f"the page says {strange}")

    def contrast(self):
        """Texts in ink on the page: at least 4.5 to 1 (WCAG 2.2, AA)."""
        def luminance(colour):
            parts = [int(colour[i:i + 2], 16) / 255 for i in (1, 3, 5)]
            parts = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
            return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]
        page = luminance(self.script("return colour('page')"))
        for name in ("ink", "ink-soft", "accent"):
            ink = luminance(self.script("return colour(arguments[0])", name))
            ratio = (max(ink, page) + 0.05) / (min(ink, page) + 0.05)
            self.expect(ratio >= 4.5, f"the contrast of {name} is {ratio:.1f} to 1")

    def fits(self, name):
        wide = self.script("return document.documentElement.scrollWidth - document.documentElement.clientWidth")
        self.expect(wide <= 0, f"{name}: the page is {wide} pixels too wide")

    def show_change(self, data):
        """Opens the last kernel of the tree that changed lines."""
        changed = [node["candidate"] for node in data["lineage"]["nodes"] if node["source_change"]]
        if changed:
            self.script("showCandidate(arguments[0])", changed[-1])

    def prints(self, path):
        """Nothing is cut at the edges of a sheet: 210 mm without the margins are 695 pixels."""
        self.device(695, 1000, "light")
        self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
        self.script("dispatchEvent(new Event('beforeprint'))")
        wide = self.script(
            "return [...document.querySelectorAll('main *')].filter(one => one.getClientRects().length > 0 &&"
            " !one.closest('svg, .uplot, .unseen, .stack, .bar') && one.getBoundingClientRect().right > 697)"
            ".slice(0, 4).map(one => `${one.tagName} ${one.className} ${one.closest('section')?.id} ${Math.round(one.getBoundingClientRect().right)}`)")
        self.expect(not wide, f"on paper these are cut: {wide}")
        canvases = self.script("return plots.filter(one => one.canvas.getBoundingClientRect().left + one.width > 697).map(one => one.spec.title)")
        self.expect(not canvases, f"on paper these plots are cut: {canvases}")
        self.script("dispatchEvent(new Event('afterprint'))")
        self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
        pdf = self.browser.execute_cdp_cmd("Page.printToPDF", {"printBackground": True, "paperWidth": 8.27, "paperHeight": 11.69})
        pdf = base64.b64decode(pdf["data"])
        self.expect(pdf.startswith(b"%PDF"), "the page does not print")
        if path:
            path.write_bytes(pdf)

    def shoot(self, path, whole):
        height = self.script("return document.documentElement.scrollHeight")
        clip = {"x": 0, "y": 0, "width": self.script("return innerWidth"), "height": height if whole else self.script("return innerHeight"), "scale": 1}
        shot = self.browser.execute_cdp_cmd("Page.captureScreenshot", {"format": "png", "captureBeyondViewport": True, "clip": clip})
        path.write_bytes(base64.b64decode(shot["data"]))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("page")
    parser.add_argument("--shots", type=pathlib.Path, help="write screenshots into this folder")
    parser.add_argument("--open-only", action="store_true", help="only print the seconds until the page is drawn")
    arguments = parser.parse_args()
    browser = open_browser()
    try:
        check = Check(browser, arguments.page)
        check.device(1600, 900, "light")
        took = check.open()
        if arguments.open_only:
            print(f"{took:.2f} s")
            check.console()
        else:
            data = check.data()
            check.points(data)
            check.use(data)
            if data["best"]:
                check.zoom()
            check.search(data)
            check.long_table(data)
            check.tree(data)
            check.explained(data)
            check.accessible()
            shots = arguments.shots
            if shots:
                shots.mkdir(parents=True, exist_ok=True)
            for scheme in ("light", "dark"):
                for name, width in WIDTHS.items():
                    check.device(width, 844 if width < 500 else 900, scheme)
                    check.open()
                    check.fits(f"{name}, {scheme}")
                    check.contrast()
                    if shots:
                        check.shoot(shots / f"{name}_{scheme}.png", True)
                        check.shoot(shots / f"{name}_{scheme}_first.png", False)
                        check.show_change(data)
                        check.shoot(shots / f"{name}_{scheme}_details.png", False)
            check.prints(shots / "print.pdf" if shots else None)
            check.console()
            check.requests()
    finally:
        browser.quit()
    for line in check.wrong:
        print(line)
    sys.exit(1 if check.wrong else 0)


if __name__ == "__main__":
    main()
