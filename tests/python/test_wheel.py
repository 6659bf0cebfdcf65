import base64
import csv
import hashlib
import io
import os
import re
import shutil
import subprocess
import sys
import unittest
import zipfile
from pathlib import Path

from searched import folder

WRITER = Path(__file__).resolve().parents[2] / "cmake" / "wheel.py"


def write_wheel(program):
    out = folder()
    done = subprocess.run(
        [sys.executable, str(WRITER), "--program", str(program), "--version", "1.2.3", "--output", str(out)],
        capture_output=True, text=True,
    )  # fmt: skip
    return done, list(out.glob("*.whl"))


@unittest.skipUnless(shutil.which("readelf") and shutil.which("strip"), "needs binutils")
class Wheel(unittest.TestCase):
    def test_what_is_installed_runs_the_program_with_its_templates(self):
        done, wheels = write_wheel("/bin/echo")  # A program of libc alone.
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(re.fullmatch(r"evo_kernels-1\.2\.3-py3-none-manylinux_2_\d+_x86_64\.whl", wheels[0].name))
        with zipfile.ZipFile(wheels[0]) as wheel:
            record = list(csv.reader(io.StringIO(wheel.read("evo_kernels-1.2.3.dist-info/RECORD").decode())))
            self.assertEqual({row[0] for row in record}, set(wheel.namelist()))
            for name, digest, size in record[:-1]:
                content = wheel.read(name)
                known = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
                self.assertEqual((digest, size), (f"sha256={known}", str(len(content))), name)
        site = folder()
        pip = [sys.executable, "-m", "pip", "install", "-q", "--no-index", "--no-deps", "--target", str(site)]
        installed = subprocess.run([*pip, str(wheels[0])], capture_output=True, text=True)
        if "No module named pip" in installed.stderr:
            self.skipTest("needs pip")
        self.assertEqual(installed.returncode, 0, installed.stderr)
        variables = {name: text for name, text in os.environ.items() if name != "EVO_PROGRAM"}
        said = subprocess.run(
            [str(site / "bin" / "evo"), "--version"], capture_output=True, text=True,
            env={**variables, "PYTHONPATH": str(site)},
        )  # fmt: skip
        self.assertEqual(said.returncode, 0, said.stderr)
        self.assertIn("echo", said.stdout)
        program = site / "evo_kernels" / "program"
        self.assertTrue((program / "templates" / "softmax" / "task.json").is_file())
        self.assertTrue((program / "docs" / "python.md").is_file())

    def test_a_program_with_other_libraries_is_refused(self):
        done, wheels = write_wheel(os.environ["EVO_PROGRAM"])
        self.assertEqual((done.returncode, wheels), (1, []))
        self.assertRegex(done.stderr, r"^wheel: .* needs .*libstdc\+\+\.so\.6.*\n$")


if __name__ == "__main__":
    unittest.main()
