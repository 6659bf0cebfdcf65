#!/usr/bin/python3
"""check_report.py PAGE.html [--shots FOLDER]: opens a page of `evo report -o` in a headless Chromium and uses it.

Ends with 0 when all is well and with 1 and a line for each thing that is wrong. Ends with 77 where there is no Chromium,
no chromedriver or no selenium (Debian: chromium, chromium-driver, python3-selenium).
"""

import argparse
import base64
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
        curve = sum(one is not None for run in data["by_evaluations"]["runs"] for one in run)
        expected = {
            "front-plot": errors + len(data["rivals"]) if errors else 0,
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
        chosen = self.script(
            "const plot = plots.find(one => one.figure.id === 'candidate-plot'); const point = plot.points[0];"
            "plot.canvas.scrollIntoView({block: 'center', behavior: 'instant'});"
            "const box = plot.uplot.over.getBoundingClientRect();"
            "return [box.left + plot.uplot.valToPos(point.x, 'x'), box.top + plot.uplot.valToPos(point.y, 'y')]")
        for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
            self.browser.execute_cdp_cmd("Input.dispatchMouseEvent", {
                "type": kind, "x": chosen[0], "y": chosen[1], "button": "none" if kind == "mouseMoved" else "left", "clickCount": 1})
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

    def press(self, key):
        text = {"text": "\r"} if key == "Enter" else {}
        codes = {"Escape": 27, "ArrowRight": 39, "Enter": 13}
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
