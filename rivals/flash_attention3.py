#!/usr/bin/env python3
"""Rival: FlashAttention-3, of its own unmodified source.

    rivals/flash_attention3.py                        answers evo (docs/baseline.md)
    rivals/flash_attention3.py --build FOLDER [NAME]  builds the kernels, or those named (e4m3_64): needs nvcc, no GPU
    rivals/flash_attention3.py --check                compares them with attention in double precision, on a GPU

Its package flash_attn_interface is taken where it is installed; else the libraries in FLASH_ATTENTION_LIBRARY, a folder
that --build has made; else they are built here, of the checkout of flash-attention that FLASH_ATTENTION names.

Keys are not split among blocks (num_splits=1), the default of its flash_attn_func. Where its heuristic (num_splits=0)
would split them, that is a rival of its own."""

import argparse
import atexit
import ctypes
import os
import shutil
import sys
import tempfile

from flash_attention3_build import KERNELS, build, library_name
from flash_attention3_check import check
from rival import Refusal, Rival, in_one_line, serve
from torch_calls import attention as decoded_attention

ERROR_BYTES = 512


class Built:
    """A call of a library's kernel, on tensors of (batch, heads, length, width)."""

    def __init__(self, library, q, k, v, scales, causal, softmax_scale, splits):
        import torch

        batch, heads, length, width = q.shape
        self.library, self.error = library, ctypes.create_string_buffer(ERROR_BYTES)
        self.o = torch.empty(q.shape, dtype=torch.bfloat16 if scales else q.dtype, device=q.device)
        row_sums = torch.empty((batch, heads, length), dtype=torch.float32, device=q.device)
        self.counters = torch.empty(library.counters_needed(batch), dtype=torch.int32, device=q.device)
        # Outputs and row sums of the parts of the keys.
        parts = torch.empty((splits, batch, heads, length, width + 1) if splits > 1 else 0, dtype=torch.float32,
                            device=q.device)
        self.kept = [*(tensor.contiguous() for tensor in (q, k, v)), self.o, row_sums, self.counters, parts, *scales]
        buffers = [ctypes.c_void_p(tensor.data_ptr()) for tensor in self.kept[:7]]
        if scales:
            buffers.append((ctypes.c_void_p * 3)(*(scale.data_ptr() for scale in scales)))
            # One scale for all, or one for each head.
            strides = (heads, 1) if scales[0].numel() > 1 else (0, 0)
        else:
            buffers.append(None)
            strides = (0, 0)
        self.made = library.make_attention(*buffers, *map(ctypes.c_longlong, strides), batch, heads, length,
                                           ctypes.c_float(softmax_scale), int(causal), splits, self.error,
                                           ctypes.c_size_t(ERROR_BYTES))
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

    def splits(self, element, sizes, causal):
        """Into how many parts its heuristic would split the keys of (batch, heads, length, width)."""
        if not self.has(element, sizes[-1]):
            return 1
        return self.library(element, sizes[-1]).splits_of(*sizes[:3], int(causal))

    def prepare(self, element, q, k, v, scales, causal, softmax_scale, split):
        splits = self.splits(element, q.shape, causal) if split else 1
        return Built(self.library(element, q.shape[-1]), q, k, v, scales, causal, softmax_scale, splits)


class Package:
    """Its own module for torch."""

    def __init__(self, module):
        self.module = module

    def has(self, element, width):
        return True

    def version(self, element, width):
        from importlib import metadata

        try:
            return "FlashAttention " + metadata.version("flash_attn_3")
        except metadata.PackageNotFoundError:
            return "flash_attn_interface"

    def splits(self, element, sizes, causal):
        return 0  # It does not say.

    def prepare(self, element, q, k, v, scales, causal, softmax_scale, split):
        names = ("q_descale", "k_descale", "v_descale")
        descales = {name: scale.expand(q.shape[:2]) for name, scale in zip(names, scales)}

        def call():
            o = self.module.flash_attn_func(*(tensor.transpose(1, 2) for tensor in (q, k, v)), causal=causal,
                                            softmax_scale=softmax_scale, num_splits=0 if split else 1, **descales)
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

    def prepare(problem, element, split):
        inputs = problem.inputs
        scales = [inputs[name + "_scale"] for name in ("q", "k", "v")] if element == "e4m3" else []
        tensors = [inputs[name] for name in ("q", "k", "v")] if scales else decoded.prepare(problem)
        softmax_scale = options.get("softmax_scale") or tensors[0].shape[-1] ** -0.5
        return [source.prepare(element, *tensors, scales, causal, softmax_scale, split)]

    def rival(element, split):
        name, note = ("FlashAttention-3 e4m3", "bf16 out") if element == "e4m3" else ("FlashAttention-3", decoded.note)
        notes = [] if note in ("", f"{wide} out") else [note]
        return Rival(name + (", keys split" if split else ""), source.version(element, widths[0]),
                     lambda problem: prepare(problem, element, split), lambda attention: attention(),
                     "; ".join([*notes, "num_splits=0" if split else "num_splits=1"]))

    def splits(element):
        shapes = [[sizes[name] for name in "BHSD"] for sizes in task["shapes"].values()]
        return any(source.splits(element, shape, causal) != 1 for shape in shapes)

    return [rival(element, split) for element in elements for split in (False, True) if not split or splits(element)]


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
        return 1 if options.check and not check(lambda: found(KERNELS)) else 0
    except (Refusal, ImportError, OSError) as reason:
        print(f"flash_attention3: {in_one_line(reason)}", file=sys.stderr)
        return 2


sys.exit(main())
