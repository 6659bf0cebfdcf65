import importlib.util
import os
import re
import shutil
import subprocess
import sys
import unittest
import zipfile
from pathlib import Path

from searched import folder, small_search

FAKES = Path(__file__).resolve().parents[1] / "population" / "exported" / "torch"
NVCC = shutil.which("nvcc") or shutil.which("nvcc", path="/usr/local/cuda/bin")

#: Headers of torch, each of which is one of FAKES.
HEADERS = {
    "torch/csrc/inductor/aoti_torch/c/shim.h": "stable.h",
    "torch/csrc/stable/accelerator.h": "stable.h",
    "torch/csrc/stable/library.h": "stable.h",
    "torch/csrc/stable/ops.h": "stable.h",
    "torch/csrc/stable/tensor.h": "stable.h",
    "torch/headeronly/core/ScalarType.h": "stable.h",
}

#: What a package's setup.py takes of torch: a version with a stable ABI, and extensions as setuptools has them.
EXTENSIONS = """
from setuptools import Extension
from setuptools.command.build_ext import build_ext as BuildExtension

CUDA_HOME = {cuda!r}


def CUDAExtension(name, sources, *, extra_compile_args, py_limited_api):
    return Extension(
        name, sources, include_dirs=[{headers!r}, {fakes!r}, CUDA_HOME + "/include"], py_limited_api=py_limited_api,
        extra_compile_args=[*extra_compile_args["cxx"], "-std=c++17", "-w"],
        define_macros=[("TORCH_EXTENSION_NAME", name.split(".")[-1])],
    )
"""


def toolkit():
    """The folder of NVCC's toolkit, as nvcc says it: the nvcc of the PATH may be a script that starts another one."""
    said = subprocess.run([NVCC, "--dryrun", "-c", "-x", "cu", os.devnull], capture_output=True, text=True, check=True)
    return Path(re.search(r"^#\$ _HERE_=(.+)$", said.stderr, re.MULTILINE)[1]).parent


def write_torch(place, cuda):
    """A torch that builds extensions against FAKES."""
    headers = place / "headers"
    for path, header in HEADERS.items():
        (headers / path).parent.mkdir(parents=True, exist_ok=True)
        (headers / path).write_text(f"#include <{header}>\n")
    (headers / "torch" / "version.h").write_text("#define TORCH_VERSION_MAJOR 2\n#define TORCH_VERSION_MINOR 10\n")
    (place / "torch" / "utils").mkdir(parents=True)
    (place / "torch" / "__init__.py").write_text('__version__ = "2.10.0"\n')
    (place / "torch" / "utils" / "__init__.py").write_text("")
    (place / "torch" / "utils" / "cpp_extension.py").write_text(
        EXTENSIONS.format(cuda=str(cuda), headers=str(headers), fakes=str(FAKES))
    )


@unittest.skipUnless(NVCC, "needs nvcc")
@unittest.skipUnless(importlib.util.find_spec("build"), "needs python3-build")
class TorchWheel(unittest.TestCase):
    def test_a_package_builds_a_wheel_that_says_what_it_needs(self):
        place = folder()
        write_torch(place, toolkit())
        small_search().export(place / "package", format="torch", name="softmax_of_tests")
        built = subprocess.run(
            [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--skip-dependency-check", "."],
            cwd=place / "package", capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(place)},
        )  # fmt: skip
        self.assertEqual(built.returncode, 0, built.stdout + built.stderr)
        (wheel,) = (place / "package" / "dist").glob("*.whl")
        self.assertRegex(wheel.name, r"^softmax_of_tests-20\d\d\.\d+\.\d+\+[0-9a-f]{12}-cp39-abi3-linux_x86_64\.whl$")
        with zipfile.ZipFile(wheel) as content:
            names = content.namelist()
            (metadata,) = (name for name in names if name.endswith("/METADATA"))
            said = content.read(metadata).decode()
            binding = content.read("softmax_of_tests/_softmax_of_tests.abi3.so")
            operators = content.read("softmax_of_tests/_ops.py").decode()
        self.assertRegex(said, r"Requires-Dist: torch ?\(?>=2\.10\)?\n")
        self.assertIn("License: Apache-2.0", said)
        self.assertTrue(any(name.endswith("LICENSE") for name in names), names)
        self.assertIn("softmax_of_tests/_reference.py", names)
        self.assertIn("torch.ops._softmax_of_tests", operators)
        self.assertIn(b"sm_90", binding)  # The kernel's image names its target.


if __name__ == "__main__":
    unittest.main()
