#include "population/package/torch_text.h"

namespace evo {

const std::string_view kTorchModule = R"py("""@SUMMARY@

    import @NAME@
    @NAME@.@TASK@(@CALL@)

@DOC@"""
@IMPORTS@
import torch

from ._ops import add_op_namespace_prefix, ops
@REFERENCE_IMPORT@
__all__ = [@ALL@]

#: What the kernels were made for.
OPTIONS = {@OPTIONS@}


def supports(@SIZES@):
    """Whether there is a kernel for these sizes."""
    return @SUPPORT@


def _expect_dims(tensor, name, dims):
    if tensor.dim() != dims:
        raise RuntimeError(f"@NAME@: expected {name} to have {dims} dimensions, but got {tensor.dim()}")


def _expect(tensor, name, dtype, shape, first):
    if tensor.device != first.device:
        raise RuntimeError(f"@NAME@: expected all tensors to be on the same device, but {name} is on {tensor.device}")
    if tensor.dtype != dtype:
        raise RuntimeError(f"@NAME@: expected {name} to be {dtype}, but got {tensor.dtype}")
    _expect_dims(tensor, name, len(shape))
    if tuple(tensor.shape) != shape:
        raise RuntimeError(f"@NAME@: expected {name} of shape {list(shape)}, but got {list(tensor.shape)}")


def _sizes(@CALL@):
@DIMS@    return @SIZE_VALUES@


def _checked_sizes(@CALL@):
    @SIZES_ASSIGNED@ = _sizes(@CALL@)
@EXPECTATIONS@    return @SIZES_ASSIGNED@


@torch.library.register_fake(add_op_namespace_prefix("@TASK@"))
def _fake(@CALL@):
    @SIZES_ASSIGNED@ = _checked_sizes(@CALL@)
    return @NEW_OUTPUTS@


@torch.library.register_fake(add_op_namespace_prefix("@TASK@_out"))
def _fake_out(@OUT_PARAMETERS@):
    _checked_sizes(@CALL@)


def _no_backward(context, *gradients):
    raise RuntimeError(
        "@NAME@.@TASK@ has no backward: call it under torch.no_grad(), or detach its inputs"
    )


torch.library.register_autograd(add_op_namespace_prefix("@TASK@"), _no_backward)


def @TASK@(@CALL@, *, out=None):
    """@SUMMARY@

@DOC@
    out: @OUT_DOC@. Without it they are new.
    """
    if not @FIRST@.is_cuda:
        raise RuntimeError(f"@NAME@: expected @FIRST@ to be a CUDA tensor, but it is on {@FIRST@.device}")
    if out is not None and torch.is_grad_enabled() and any(tensor.requires_grad for tensor in (@READ_TUPLE@)):
        raise RuntimeError(
            "@NAME@.@TASK@(): functions with out=... arguments don't support automatic differentiation, "
            "but one of the arguments requires grad"
        )
    if not supports(*_sizes(@CALL@)):
        return _outside(@CALL@, out)
    if out is None:
        return ops.@TASK@(@CALL@)
@OUT_CALL@    return out


@OUTSIDE@)py";

const std::string_view kTorchFallback = R"py(def _outside(@CALL@, out):
    """For sizes without a kernel: the same in torch's own operations (_reference.py)."""
    _checked_sizes(@CALL@)
    results = reference(@BY_NAME@, **OPTIONS)
    if isinstance(results, torch.Tensor):
        results = (results,)
    results = tuple(result.to(dtype) for result, dtype in zip(results, (@DTYPES@), strict=True))
    if out is None:
        return results if len(results) > 1 else results[0]
    for written, result in zip(out if isinstance(out, (tuple, list)) else (out,), results, strict=True):
        written.copy_(result)
    return out
)py";

const std::string_view kTorchNoFallback = R"py(def _outside(@CALL@, out):
    """For sizes without a kernel."""
    @SIZES_ASSIGNED@ = _checked_sizes(@CALL@)
    raise RuntimeError(f"@NAME@: no kernel for @SIZES_SHOWN@: supports() says which sizes there are")
)py";

const std::string_view kTorchSetup = R"py("""Builds @NAME@: pip install --no-build-isolation --no-deps .

CUDA's nvcc is needed. EVO_CLASSIC_TORCH=1 builds for torch's classic interface where there is a stable one, too.
"""

import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py
from torch.utils.cpp_extension import CUDA_HOME, BuildExtension, CUDAExtension

NAME = "@NAME@"
EXTENSION = f"_{NAME}"

# What each kernel was compiled with when it was measured.
KERNELS = {
@KERNELS@}

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


setup(
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
)py";

const std::string_view kTorchProject = R"toml([build-system]
requires = ["setuptools>=61", "torch"]
build-backend = "setuptools.build_meta"

[project]
name = "@NAME@"
version = "@VERSION@"
description = "@SUMMARY@"
readme = "README.md"
requires-python = ">=3.9"
dependencies = ["torch"]

[tool.setuptools]
packages = ["@NAME@"]
package-dir = { "" = "torch-ext" }
)toml";

const std::string_view kTorchDraws = R"py(def normal(dtype, *shape):
    return torch.randn(shape, device="@DEVICE@").to(dtype)


def codes(dtype, *shape):
    least, most = (0, 256) if dtype == torch.uint8 else (-127, 128)
    return torch.randint(least, most, shape, device="@DEVICE@").to(dtype)


def zeros(dtype, *shape):
    return torch.zeros(shape, device="@DEVICE@", dtype=dtype)


def scales_of_floats(dtype, *shape):
    return (0.5 + torch.rand(shape, device="@DEVICE@")).to(dtype)


def scales_of_integers(dtype, *shape):
    return (0.05 + 0.1 * torch.rand(shape, device="@DEVICE@")).to(dtype)


def random_zero_points(dtype, *shape):
    return torch.randint(100, 150, shape, device="@DEVICE@").to(dtype))py";

const std::string_view kTorchTests = R"py("""Tests of @NAME@, for a machine with a GPU: python3 tests/test_@NAME@.py"""

import unittest

import torch

import @NAME@ as package

ops = package.ops
function = package.@TASK@
operator = ops.@TASK@.default
into_outputs = ops.@TASK@_out.default

#: Sizes with a kernel: @SIZES@.
SIZES = [@SIZES_OF_TESTS@]
#: Sizes without one.
OUTSIDE = @OUTSIDE_SIZES@
#: What an output's relative L2 error may be, by its number. None: it is exact.
LIMITS = [@LIMITS@]
#: The number of the output that holds an output's scales, or None.
SCALES = [@OUTPUT_SCALES@]
#: An input and a dimension of it that another input or a number decides.
DISAGREEING = @DISAGREEING@


@DRAWS@


def inputs(@SIZES@):
    torch.manual_seed(1)
    return [
@INPUTS@    ]


def listed(results):
    return [results] if isinstance(results, torch.Tensor) else list(results)


def real(results, number):
    """An output's real values, in f64."""
    values = results[number].double()
    if SCALES[number] is None:
        return values
    scales = results[SCALES[number]].double()
    for dim, size in enumerate(values.shape):
        scales = scales.repeat_interleave(-(-size // scales.shape[dim]), dim).narrow(dim, 0, size)
    return values * scales


def bits(tensor):
    return tensor.contiguous().view(torch.uint8)


class Tests(unittest.TestCase):
    def assert_same(self, got, want):
        got, want = listed(got), listed(want)
        self.assertEqual(len(got), len(want))
        for a, b in zip(got, want):
            self.assertEqual(a.dtype, b.dtype)
            self.assertTrue(torch.equal(bits(a), bits(b)))

    def test_agrees_with_torch(self):
        if not hasattr(package, "reference"):
            self.skipTest("the task has no reference in torch")
        for sizes in SIZES:
            arguments = inputs(*sizes)
            got = listed(function(*arguments))
            want = listed(package._outside(*arguments, None))
            for number, limit in enumerate(LIMITS):
                with self.subTest(sizes=sizes, output=number):
                    self.assertEqual(got[number].shape, want[number].shape)
                    self.assertEqual(got[number].dtype, want[number].dtype)
                    a, b = real(got, number), real(want, number)
                    if limit is None:
                        self.assertTrue(torch.equal(a, b))
                    else:
                        error = ((a - b).norm() / b.norm()).item()
                        self.assertLessEqual(error, limit)

    def test_out_holds_the_same_bits(self):
        for sizes in SIZES:
            arguments = inputs(*sizes)
            want = listed(function(*arguments))
            out = [torch.full_like(tensor.float(), 7).to(tensor.dtype) for tensor in want]
            out = out[0] if len(out) == 1 else tuple(out)
            self.assertIs(function(*arguments, out=out), out)
            self.assert_same(out, want)

    def test_sizes_without_a_kernel(self):
        if OUTSIDE is None:
            self.skipTest("there is a kernel for every size")
        arguments = inputs(*OUTSIDE)
        self.assertFalse(package.supports(*OUTSIDE))
        with self.assertRaisesRegex(RuntimeError, "no kernel for"):
            operator(*arguments)
        if hasattr(package, "reference"):
            want = listed(package._outside(*arguments, None))
            self.assert_same(function(*arguments), want)
            out = [torch.empty_like(tensor) for tensor in want]
            function(*arguments, out=out[0] if len(out) == 1 else out)
            self.assert_same(out, want)
        else:
            with self.assertRaisesRegex(RuntimeError, "no kernel for"):
                function(*arguments)

    def test_opcheck(self):
        arguments = inputs(*SIZES[0])
        self.opcheck(operator, arguments)
        self.opcheck(into_outputs, self.arguments_with_outputs(arguments))

    def opcheck(self, op, arguments):
        for check in ("test_schema", "test_autograd_registration", "test_faketensor", "test_aot_dispatch_dynamic"):
            with self.subTest(op=op, check=check):
                try:
                    torch.library.opcheck(op, arguments, test_utils=check)
                except Exception as error:
                    # What torch compares FP8 tensors with has no FP8.
                    if "not implemented for 'Float8" not in str(error):
                        raise

    def arguments_with_outputs(self, arguments):
        results = [tensor.clone() for tensor in listed(operator(*arguments))]
        return [*arguments[:@PLAIN_INPUTS@], *results, *arguments[@READ_COUNT@:]]

    def test_compiles_as_one_graph(self):
        arguments = inputs(*SIZES[0])
        compiled = torch.compile(lambda *given: function(*given), fullgraph=True)
        self.assert_same(compiled(*arguments), function(*arguments))

    def test_cuda_graph(self):
        arguments = inputs(*SIZES[0])
        want = [tensor.clone() for tensor in listed(function(*arguments))]
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            got = function(*arguments)
        for tensor in listed(got):
            tensor.zero_()
        graph.replay()
        torch.cuda.synchronize()
        self.assert_same(got, want)

    def test_runs_in_the_current_stream(self):
        arguments = inputs(*SIZES[0])
        want = listed(function(*arguments))
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            torch.cuda._sleep(20_000_000)  # What ran in another stream would be done before this is.
            later = [tensor.clone() for tensor in arguments]
            got = listed(function(*later))
        torch.cuda.current_stream().wait_stream(stream)
        self.assert_same(got, want)

    def test_gradients_are_refused(self):
        arguments = inputs(*SIZES[0])
        floating = [tensor for tensor in arguments if tensor.dtype in (torch.float16, torch.bfloat16, torch.float32)]
        if not floating:
            self.skipTest("no input can have a gradient")
        floating[0].requires_grad_()
        results = [tensor for tensor in listed(function(*arguments)) if tensor.requires_grad]
        self.assertTrue(results)
        with self.assertRaisesRegex(RuntimeError, "has no backward"):
            results[0].float().sum().backward()
        with self.assertRaisesRegex(RuntimeError, "don't support automatic differentiation"):
            function(*arguments, out=tuple(torch.empty_like(tensor) for tensor in results))
        with torch.no_grad():
            function(*arguments)

    def refused(self, arguments, message):
        for call in (operator, function):
            with self.assertRaisesRegex(RuntimeError, message):
                call(*arguments)

    def test_wrong_tensors_are_refused(self):
        right = inputs(*SIZES[0])
        for number in range(@READ_COUNT@):
            with self.subTest(input=number):
                def with_other(tensor):
                    return [*right[:number], tensor, *right[number + 1 :]]

                tensor = right[number]
                other = torch.float64 if tensor.dtype != torch.float64 else torch.float32
                self.refused(with_other(tensor.to(other)), "expected .* to be torch")
                self.refused(with_other(tensor.unsqueeze(0)), "dimensions")
                wide = torch.zeros((*tensor.shape[:-1], 2 * tensor.shape[-1]), device="cuda").to(tensor.dtype)
                # What is also written is copied first, and copies are dense.
                if number < @PLAIN_INPUTS@ and tensor.numel() > 1 and tensor.shape[-1] > 1:
                    apart = wide[..., ::2]
                    self.refused(with_other(apart), "contiguous|strides")
                if @READ_COUNT@ > 1:
                    self.refused(with_other(tensor.cpu()), "CUDA tensor|same device|device")

    def test_wrong_shapes_are_refused(self):
        if DISAGREEING is None:
            self.skipTest("no two dimensions must agree")
        right = inputs(*SIZES[0])
        number, dim = DISAGREEING
        shape = list(right[number].shape)
        shape[dim] += 1
        longer = torch.zeros(shape, device="cuda").to(right[number].dtype)
        self.refused([*right[:number], longer, *right[number + 1 :]], "of shape")

    def test_tensors_on_the_cpu_are_refused(self):
        arguments = [tensor.cpu() if isinstance(tensor, torch.Tensor) else tensor for tensor in inputs(*SIZES[0])]
        with self.assertRaisesRegex(RuntimeError, "CUDA tensor"):
            function(*arguments)

    def test_views(self):
        """A view that begins at a multiple of @ALIGNMENT@ bytes is taken, another one is refused."""
        right = inputs(*SIZES[0])
        want = listed(function(*right))
        tensor = right[0]

        def placed(bytes_further):
            memory = torch.zeros(tensor.numel() * tensor.element_size() + 512, dtype=torch.uint8, device="cuda")
            memory = memory[bytes_further:][: tensor.numel() * tensor.element_size()]
            view = memory.view(tensor.dtype).view(tensor.shape)
            view.copy_(tensor)
            return view

        self.assert_same(function(placed(@ALIGNMENT@), *right[1:]), want)
        self.refused([placed(@ALIGNMENT@ // 2), *right[1:]], "multiple of @ALIGNMENT@ bytes")


if __name__ == "__main__":
    unittest.main()
)py";

const std::string_view kTorchReadMe = R"md(# @NAME@
@SUMMARY@

    pip install --no-build-isolation --no-deps .
    python3 tests/test_@NAME@.py

```python
import @NAME@
result = @NAME@.@TASK@(@CALL@)
```

@DOC@
Kernels, written by `evo export --format torch`:

@KERNELS@
- Tensors are on one CUDA device, dense (`contiguous()`) and begin at multiples of @ALIGNMENT@ bytes. Others are refused, and so are
  other dtypes and shapes.
- `out=`: results go into the caller's tensors.
- Kernels run in the current stream, scratch memory is torch's. `torch.compile(fullgraph=True)` and CUDA graphs work.
- There is no backward: it raises an error.
- `supports(@SIZES@)` says whether there is a kernel for a size. @OUTSIDE_DOC@
- The binding uses torch's stable ABI (torch 2.10 or later), before that the classic one. The folder is also a project
  of Hugging Face's kernel-builder (`build.toml`).
)md";

}  // namespace evo
