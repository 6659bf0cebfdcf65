import contextlib
import importlib.util
import io
import json
import os
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

from searched import folder

TUTORIAL = Path(__file__).resolve().parents[2] / "docs" / "tutorial.ipynb"


def looked_at(test, place, printed):
    """What the tutorial leaves behind and says."""
    test.assertIn("cudaError_t evo_softmax(", (place / "best.cu").read_text())
    test.assertTrue((place / "tutorial.db").is_file())
    test.assertIn("us modelled", printed)
    test.assertIn("run 3 found no valid kernel of saxpy_wrong", printed)
    test.assertIn("// softmax: y = softmax(x)", printed)


class Cells(unittest.TestCase):
    def test_the_cells_run_one_after_the_other(self):
        place, before, names, printed = folder(), os.getcwd(), {}, io.StringIO()
        os.chdir(place)
        try:
            with contextlib.redirect_stdout(printed):
                for cell in json.loads(TUTORIAL.read_text(encoding="utf-8"))["cells"]:
                    if cell["cell_type"] == "code":
                        exec("".join(cell["source"]), names)
                print(names["result"].best.latency_us, "us modelled")
        finally:
            os.chdir(before)
        looked_at(self, place, printed.getvalue())


@unittest.skipUnless(
    shutil.which("jupyter-nbconvert") and importlib.util.find_spec("ipykernel"), "needs jupyter-nbconvert and ipykernel"
)
class Jupyter(unittest.TestCase):
    def test_jupyter_executes_it_and_shows_tables_and_the_page(self):
        place = folder()
        shutil.copy(TUTORIAL, place / "tutorial.ipynb")
        done = subprocess.run(
            ["jupyter-nbconvert", "--to", "notebook", "--execute", "--output", "done.ipynb", "tutorial.ipynb"],
            cwd=place, capture_output=True, text=True,
        )  # fmt: skip
        self.assertEqual(done.returncode, 0, done.stderr)
        cells = json.loads((place / "done.ipynb").read_text(encoding="utf-8"))["cells"]
        outputs = [one for cell in cells for one in cell.get("outputs", [])]
        shown = ["".join(one["data"].get("text/html", "")) for one in outputs if "data" in one]
        self.assertTrue(any("<iframe srcdoc" in one for one in shown), "the report is shown")
        self.assertTrue(any("row_threads" in one and "<table" in one for one in shown), "the table is shown")
        looked_at(self, place, json.dumps(outputs))


if __name__ == "__main__":
    unittest.main()
