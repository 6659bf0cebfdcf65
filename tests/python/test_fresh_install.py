import os
import subprocess
import sys
import unittest
from pathlib import Path

from searched import folder

BUILD = os.environ.get("EVO_BUILD")


@unittest.skipUnless(BUILD, "needs a build folder in EVO_BUILD")
class FreshInstall(unittest.TestCase):
    def done(self, *command, place=None, **variables):
        kept = {name: text for name, text in os.environ.items() if not name.startswith(("EVO_", "PYTHON"))}
        ran = subprocess.run(command, capture_output=True, text=True, cwd=place, env={**kept, **variables})
        if "unknown target" in ran.stdout + ran.stderr or "ensurepip" in ran.stdout + ran.stderr:
            self.skipTest("needs static libraries and python3-venv")
        self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)
        return ran.stdout

    def test_the_wheel_takes_a_new_environment_to_an_exported_kernel(self):
        said = self.done("cmake", "--build", BUILD, "--target", "wheel")
        wheel = next(word for line in said.splitlines() for word in line.split() if word.endswith(".whl:"))[:-1]
        self.assertLess(Path(wheel).stat().st_size, 20_000_000)
        place = folder()
        binaries = place / "venv" / "bin"
        self.done(sys.executable, "-m", "venv", str(place / "venv"))
        self.done(str(binaries / "pip"), "install", "-q", "--no-index", "--disable-pip-version-check", wheel)
        search = ["run", "--task", "softmax", "--device", "vgpu", "--shapes", "small_one", "--evals", "2"]
        self.done(str(binaries / "evo"), *search, "--check-time", "0", place=place)
        self.done(str(binaries / "evo"), "export", "-o", "best.cu", place=place)
        self.assertIn("cudaError_t evo_softmax(", (place / "best.cu").read_text())
        best = self.done(str(binaries / "python"), "-c", "import evo_kernels as e; print(e.open().best())", place=place)
        self.assertRegex(best, r"^<candidate \d+ of softmax: [\d.]+ us modelled")


if __name__ == "__main__":
    unittest.main()
