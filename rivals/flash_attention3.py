#!/usr/bin/env python3
"""Rival: FlashAttention-3, of its own unmodified source.

    rivals/flash_attention3.py                        answers evo (docs/baseline.md)
    rivals/flash_attention3.py --build FOLDER [NAME]  builds the kernels, or those named (e4m3_64): needs nvcc, no GPU
    rivals/flash_attention3.py --check                compares them with attention in double precision, on a GPU

Its package flash_attn_interface is taken where it is installed; else the libraries in FLASH_ATTENTION_LIBRARY, a folder
that --build has made; else they are built here, of the checkout of flash-attention that FLASH_ATTENTION names.

Keys are not split among blocks: num_splits=1 is the default of its flash_attn_func."""

import argparse
import atexit
import ctypes
import os
import shutil
import sys
import tempfile

from flash_attention3_build import KERNELS, build, checkout, library_name
from rival import Refusal, Rival, in_one_line, serve
from torch_calls import attention as decoded_attention

ERROR_BYTES = 512


def dtypes():
    import torch

    return {"e4m3": torch.float8_e4m3fn, "f16": torch.float16, "bf16": torch.bfloat16}


class Built:
    """A call of a library's kernel, on tensors of (batch, heads, length, width)."""

    def __init__(self, library, q, k, v, scales, causal, softmax_scale):
        import torch

        batch, heads, length, width = q.shape
        self.library, self.error = library, ctypes.create_string_buffer(ERROR_BYTES)
        self.o = torch.empty(q.shape, dtype=torch.bfloat16 if scales else q.dtype, device=q.device)
        row_sums = torch.empty((batch, heads, length), dtype=torch.float32, device=q.device)
        self.counters = torch.empty(library.counters_needed(batch), dtype=torch.int32, device=q.device)
        self.kept = [*(tensor.contiguous() for tensor in (q, k, v)), row_sums, *scales]
        pointers = (ctypes.c_void_p * 3)(*(scale.data_ptr() for scale in scales)) if scales else None
        # One scale for all, or one for each head.
        strides = (heads, 1) if scales and scales[0].numel() > 1 else (0, 0)
        self.made = library.make_attention(
            *(ctypes.c_void_p(tensor.data_ptr()) for tensor in (*self.kept[:3], self.o, row_sums, self.counters)),
            pointers, *(ctypes.c_longlong(stride) for stride in strides), batch, heads, length,
            ctypes.c_float(softmax_scale), int(causal), self.error, ctypes.c_size_t(ERROR_BYTES))
        if not self.made:
            raise Refusal(self.error.value.decode(errors="replace"))

    def __call__(self):
        import torch

        if self.library.run_attention(ctypes.c_void_p(self.made), ctypes.c_void_p(self.counters.data_ptr()),
                                      ctypes.c_void_p(torch.cuda.current_stream().cuda_stream), self.error,
                                      ctypes.c_size_t(ERROR_BYTES)) != 0:
            raise RuntimeError(self.error.value.decode(errors="replace"))
        return self.o


class Libraries:
    """Those of a folder."""

    def __init__(self, folder):
        self.folder, self.opened = folder, {}

    def has(self, element, width):
        return os.path.isfile(os.path.join(self.folder, library_name(f"{element}_{width}")))

    def library(self, element, width):
        name = library_name(f"{element}_{width}")
        if name not in self.opened:
            if not self.has(element, width):
                raise Refusal(f"no {name} in {self.folder}")
            library = ctypes.CDLL(os.path.join(self.folder, name))
            library.flash_attention3_version.restype = ctypes.c_char_p
            library.make_attention.restype = ctypes.c_void_p
            self.opened[name] = library
        return self.opened[name]

    def version(self, element, width):
        if not self.has(element, width):
            return "FlashAttention 3"
        return "FlashAttention " + self.library(element, width).flash_attention3_version().decode()

    def prepare(self, element, q, k, v, scales, causal, softmax_scale):
        return Built(self.library(element, q.shape[-1]), q, k, v, scales, causal, softmax_scale)


class Package:
    """Its own module for torch."""

    def __init__(self, module):
        self.module = module

    def has(self, element, width):
        return True

    def version(self, element, width):
        from importlib import metadata

        for name in ("flash_attn_3", "flash_attn"):
            try:
                return "FlashAttention " + metadata.version(name)
            except metadata.PackageNotFoundError:
                continue
        return "flash_attn_interface"

    def prepare(self, element, q, k, v, scales, causal, softmax_scale):
        descales = {name: scale.expand(q.shape[:2]) for name, scale in zip(("q_descale", "k_descale", "v_descale"), scales)}

        def call():
            o = self.module.flash_attn_func(*(tensor.transpose(1, 2) for tensor in (q, k, v)), causal=causal,
                                            softmax_scale=softmax_scale, **descales)
            return (o[0] if isinstance(o, tuple) else o).transpose(1, 2)

        return call


def found(kernels):
    """What computes these kernels (as in KERNELS) here."""
    try:
        import flash_attn_interface
    except ImportError:
        pass
    else:
        return Package(flash_attn_interface)
    folder = os.environ.get("FLASH_ATTENTION_LIBRARY")
    if folder:
        if not os.path.isdir(folder):
            raise ImportError(f"FLASH_ATTENTION_LIBRARY: '{folder}' is no folder")
        return Libraries(folder)
    if not os.environ.get("FLASH_ATTENTION"):
        raise ImportError("no module flash_attn_interface, no libraries in FLASH_ATTENTION_LIBRARY, and no checkout of "
                          "flash-attention in FLASH_ATTENTION")
    checkout()
    folder = tempfile.mkdtemp(prefix="evo-flash-attention3-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    for kernel in kernels:
        build(kernel, folder)
    return Libraries(folder)


def rivals_of(task):
    import torch

    if not torch.cuda.is_available():
        raise ImportError("torch finds no GPU")
    options = task["options"]
    coded, causal = task["task"] == "fp8_sdpa", options["mask"] == "causal"
    wide = options["out"] if coded else options["dtype"]
    elements = [wide]
    if coded and options["v_layout"] == "row_major":  # It takes codes of values row by row.
        elements.insert(0, "e4m3")
    widths = sorted({sizes["D"] for sizes in task["shapes"].values()})
    source = found([f"{element}_{width}" for element in elements for width in widths])
    decoded = decoded_attention(task)

    def prepare(problem, element):
        inputs = problem.inputs
        scales = [inputs[name + "_scale"] for name in ("q", "k", "v")] if element == "e4m3" else []
        tensors = [inputs[name] for name in ("q", "k", "v")] if scales else decoded.prepare(problem)
        softmax_scale = options.get("softmax_scale") or tensors[0].shape[-1] ** -0.5
        return [source.prepare(element, *tensors, scales, causal, softmax_scale)]

    def rival(element):
        name, note = ("FlashAttention-3 e4m3", "bf16 out") if element == "e4m3" else ("FlashAttention-3", decoded.note)
        notes = [] if note == f"{wide} out" else [note]
        return Rival(name, source.version(element, widths[0]), lambda problem: prepare(problem, element),
                     lambda attention: attention(), "; ".join(part for part in (*notes, "num_splits=1") if part))

    return [rival(element) for element in elements]


# --check: by kernel's element, the largest relative error, measured over all elements. That of e4m3 is the task's limit.
LIMITS = {"e4m3": 0.04, "f16": 0.0006, "bf16": 0.005}
SIZES = ((2, 3, 200), (1, 2, 513), (1, 1, 1), (2, 8, 1024))  # B, H, S


def in_double(q, k, v, causal, softmax_scale):
    import torch

    scores = q @ k.transpose(-2, -1) * softmax_scale
    if causal:
        scores = scores.masked_fill(torch.ones(scores.shape[-2:], dtype=torch.bool, device=q.device).triu(1), float("-inf"))
    return scores.softmax(-1) @ v


def check_one(source, element, width, causal, sizes, whole):
    """The relative error of one call, and whether calls in a CUDA graph repeat its bits."""
    import torch

    shape = (*sizes, width)
    values = [torch.randn(shape, device="cuda") for _ in range(3)]
    scales = []
    if element == "e4m3":
        # Scales far from each other: one head's or one tensor's in another's place shows.
        scales = [torch.rand((1, 1) if whole else sizes[:2], device="cuda") * factor + factor for factor in (0.5, 0.25, 2)]
        values = [value / scale[..., None, None] for value, scale in zip(values, scales)]
    tensors = [value.to(dtypes()[element]) for value in values]
    exact = [tensor.double() for tensor in tensors]
    if scales:
        exact = [tensor * scale.double()[..., None, None] for tensor, scale in zip(exact, scales)]
    softmax_scale = width ** -0.5
    call = source.prepare(element, *tensors, scales, causal, softmax_scale)
    expected = in_double(*exact, causal, softmax_scale)
    o = call().clone()
    error = float((o.double() - expected).norm() / expected.norm())
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        call()
        last = call()
    repeats = True
    for _ in range(3):
        last.zero_()
        graph.replay()
        repeats = repeats and torch.equal(last.contiguous().view(torch.int16), o.contiguous().view(torch.int16))
    return error, repeats


def check():
    """Prints a line for each case. Returns how many are wrong."""
    import torch

    if not torch.cuda.is_available():
        raise ImportError("torch finds no GPU")
    source = found(KERNELS)
    torch.manual_seed(1)
    passed = failed = 0
    for kernel in KERNELS:
        element, width = kernel.split("_")[0], int(kernel.split("_")[1])
        if not source.has(element, width):
            print(f"{kernel}: skipped, no {library_name(kernel)}")
            continue
        print(f"{kernel}: {source.version(element, width)}")
        for sizes in SIZES:
            for causal in (False, True):
                error, repeats = check_one(source, element, width, causal, sizes, whole=sizes[0] == 1)
                right = error <= LIMITS[element] and repeats  # NaN is not.
                passed, failed = passed + right, failed + (not right)
                print(f"  {','.join(map(str, sizes))},{width}{' causal' if causal else ''}: error {error:.2g} of "
                      f"{LIMITS[element]}{'' if repeats else ', other bits in a graph'}{'' if right else '  WRONG'}",
                      flush=True)
    print(f"{passed} passed, {failed} failed")
    return failed if passed + failed else 1


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", metavar="FOLDER")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("kernels", nargs="*", metavar="NAME", help=f"of {', '.join(KERNELS)} (default: all)")
    options = parser.parse_args()
    if not options.build and not options.check:
        serve(("fp8_sdpa", "f16_sdpa"), rivals_of)
        return 0
    try:
        if options.build:
            for kernel in options.kernels or KERNELS:
                library = build(kernel, options.build)
                print(f"{library}: {os.path.getsize(library) / 2**20:.1f} MiB", flush=True)
        return 1 if options.check and check() > 0 else 0
    except (Refusal, ImportError, OSError) as reason:
        print(f"flash_attention3: {in_one_line(reason)}", file=sys.stderr)
        return 2


sys.exit(main())
