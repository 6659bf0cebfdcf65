"""Builds __NAME__: pip install --no-build-isolation --no-deps .

CUDA's nvcc is needed. EVO_CLASSIC_TORCH=1 builds for torch's classic interface where there is a stable one, too.
"""

import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import torch
from setuptools import setup
from setuptools.command.build_py import build_py
from torch.utils.cpp_extension import CUDA_HOME, BuildExtension, CUDAExtension

NAME = "__NAME__"
EXTENSION = f"_{NAME}"

# What each kernel was compiled with when it was measured.
KERNELS = {
    __KERNELS__
}

OPS = f'''"""The operators, as the builder names them."""

import torch

from . import {EXTENSION}

ops = torch.ops.{EXTENSION}


def add_op_namespace_prefix(name):
    return f"{EXTENSION}::{{name}}"
'''


class Build(BuildExtension):
    def build_extension(self, extension):
        # By hand: torch gives all sources of an extension the same flags.
        folder = Path(self.build_temp)
        folder.mkdir(parents=True, exist_ok=True)

        def compiled(kernel):
            source, flags = kernel
            target = str(folder / f"{Path(source).stem}.o")
            nvcc = str(Path(CUDA_HOME) / "bin" / "nvcc")
            subprocess.run([nvcc, *flags, "-Xcompiler", "-fPIC", "-c", source, "-o", target], check=True)
            return target

        with ThreadPoolExecutor() as pool:
            extension.extra_objects = list(pool.map(compiled, KERNELS.items()))
        super().build_extension(extension)


class BuildPython(build_py):
    def run(self):
        super().run()
        package = Path(self.build_lib) / NAME
        package.mkdir(parents=True, exist_ok=True)
        (package / "_ops.py").write_text(OPS)


NUMBERS = tuple(int(number) for number in torch.__version__.split(".")[:2])
STABLE = NUMBERS >= (2, 10) and "EVO_CLASSIC_TORCH" not in os.environ

setup(
    # The stable interface is there since 2.10; the classic one is that of the torch which it is built with.
    install_requires=["torch>=2.10" if STABLE else "torch=={}.{}.*".format(*NUMBERS)],
    ext_modules=[
        CUDAExtension(
            f"{NAME}.{EXTENSION}",
            ["torch-ext/torch_binding.cpp"],
            extra_compile_args={"cxx": ["-O2"] + ["-DEVO_CLASSIC_TORCH"] * ("EVO_CLASSIC_TORCH" in os.environ)},
            py_limited_api=True,
        )
    ],
    cmdclass={"build_ext": Build, "build_py": BuildPython},
    options={"bdist_wheel": {"py_limited_api": "cp39"}},
)
