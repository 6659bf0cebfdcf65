#!/usr/bin/env python3
"""Rival: cuDNN's attention of E4M3 codes, through its C++ interface, which is built here, once for each version.

Needs libcudnn with its headers, a C++ compiler, CUDA's headers, and those of cudnn-frontend: in a usual place, or where
CUDNN_FRONTEND names their folder."""

import ctypes
import hashlib
import os
import shutil
import site
import subprocess
import tempfile

from rival import Refusal, Rival, serve

CODES = {"e4m3": 0, "f16": 1, "bf16": 2}
P_SCALE = 256.0  # A probability is at most 1: its code is at most 256 of 448.


def folder_of(header, places):
    for place in places:
        if place and os.path.isfile(os.path.join(place, header)):
            return place
    raise ImportError(f"{header} is in none of {', '.join(place for place in places if place)}")


def build():
    import torch

    packages = [os.path.dirname(os.path.dirname(torch.__file__)), *site.getsitepackages()]
    cudnn = [os.path.join(package, "nvidia", "cudnn", "include") for package in packages]
    toolkit = os.path.join(os.environ.get("CUDA_HOME", "/usr/local/cuda"), "include")
    usual = ["/usr/include", "/usr/local/include", toolkit]
    folders = [
        folder_of("cudnn_frontend.h", [os.environ.get("CUDNN_FRONTEND"), *(os.path.join(package, "include")
                                                                          for package in packages), *usual]),
        folder_of("cudnn.h", [*cudnn, *usual]),
        folder_of("cuda_runtime.h", [toolkit, "/usr/include",
                                     *(os.path.join(package, "nvidia", "cuda_runtime", "include")
                                       for package in packages)]),
    ]
    compiler = os.environ.get("CXX") or shutil.which("c++") or shutil.which("g++")
    if not compiler:
        raise ImportError("no C++ compiler")
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "cudnn_attention.cpp")
    # Some compilers link the C++ standard library statically. Unless that copy is hidden, it shares symbols with the one
    # that torch has loaded, and std::ostream crashes.
    command = [compiler, "-std=c++20", "-O1", "-w", "-shared", "-fPIC", *(f"-I{folder}" for folder in folders), source,
               "-static-libstdc++", "-fno-gnu-unique", "-Wl,--exclude-libs,ALL,-Bsymbolic", "-ldl"]
    made_of = [source, os.path.join(folders[0], "cudnn_frontend_version.h"), os.path.join(folders[1], "cudnn_version.h")]
    library = os.path.join(cache(), f"cudnn_attention_{digest(command, made_of)}.so")
    if not os.path.exists(library):
        compile_to(library, command)
    loaded = ctypes.CDLL(library)
    for function in (loaded.open_cudnn, loaded.workspace_bytes, loaded.plans):
        function.restype = ctypes.c_int64
    loaded.make_attention.restype = ctypes.c_void_p
    return loaded


def cache():
    return os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "evo")


def digest(command, files):
    """Of the command and of what the files hold; one that is missing is empty."""
    whole = hashlib.sha256("\0".join(command).encode())
    for name in files:
        if os.path.isfile(name):
            with open(name, "rb") as file:
                whole.update(file.read())
    return whole.hexdigest()[:16]


def compile_to(library, command):
    """The library is there whole or not at all, whoever else compiles it at the same time."""
    os.makedirs(os.path.dirname(library), exist_ok=True)
    with tempfile.TemporaryDirectory(dir=os.path.dirname(library)) as folder:
        made = os.path.join(folder, "made.so")
        built = subprocess.run([*command, "-o", made], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        if built.returncode != 0:
            errors = [line for line in built.stderr.splitlines() if "error" in line]
            raise ImportError(f"cudnn_attention.cpp does not compile: {(errors or ['?'])[0]}")
        os.replace(made, library)


class Attention:
    """One set of buffers with the plans for them."""

    def __init__(self, library, codes, scales, causal, out):
        import torch

        error = ctypes.create_string_buffer(512)
        batch, heads, length, width = (ctypes.c_int64(size) for size in codes[0].shape)
        self.library = library
        self.made = library.make_attention(batch, heads, length, width, int(causal),
                                           ctypes.c_float(codes[0].shape[-1] ** -0.5), CODES[out], error,
                                           ctypes.c_size_t(len(error)))
        if not self.made:
            raise Refusal(error.value.decode(errors="replace"))

        def number(value):
            return torch.full((1,), float(value), dtype=torch.float32, device="cuda")

        # The largest output is at most the largest value.
        largest = codes[2].float().abs().max() * scales[2]
        self.o_scale = 448 / float(largest) if out == "e4m3" and largest > 0 else 1.0
        self.o = torch.empty(codes[0].shape, dtype={"e4m3": torch.float8_e4m3fn, "f16": torch.float16,
                                                    "bf16": torch.bfloat16}[out], device="cuda")
        self.tensors = [*codes, *(number(scale) for scale in scales), number(1 / P_SCALE), number(P_SCALE),
                        number(self.o_scale), self.o, number(0), number(0)]
        self.pointers = (ctypes.c_void_p * len(self.tensors))(*(tensor.data_ptr() for tensor in self.tensors))
        self.workspace = torch.empty(max(1, library.workspace_bytes(ctypes.c_void_p(self.made))), dtype=torch.uint8,
                                     device="cuda")

    def choices(self):
        """A call by each plan. Its number serves other sets of buffers, which have the same shapes."""
        count = self.library.plans(ctypes.c_void_p(self.made))
        return [lambda attention, plan=plan: attention.run(plan) for plan in range(count)]

    def run(self, plan):
        import torch

        status = self.library.run_attention(ctypes.c_void_p(self.made), ctypes.c_int64(plan), self.pointers,
                                            ctypes.c_void_p(self.workspace.data_ptr()),
                                            ctypes.c_void_p(torch.cuda.current_stream().cuda_stream))
        if status != 0:
            raise Refusal(f"cuDNN does not run its plan {plan} (step {status})")
        return self.o


def one_scale(codes, scale):
    """Codes with one scale for the whole tensor."""
    import torch

    if scale.numel() == 1:
        return codes, float(scale)
    values = codes.float() * scale[..., None, None]
    whole = float(values.abs().max()) / 448 or 1.0
    return (values / whole).to(torch.float8_e4m3fn), whole


def rivals_of(task):
    import torch

    if not torch.cuda.is_available():
        raise ImportError("torch finds no GPU")
    options = task["options"]
    if options["v_layout"] != "row_major":
        raise Refusal("cuDNN takes values row by row")
    library = build()
    version = library.open_cudnn(b"libcudnn.so.9")
    if not version:
        raise ImportError("libcudnn.so.9 cannot be opened")

    def prepare(problem, out):
        pairs = [one_scale(problem.inputs[name], problem.inputs[name + "_scale"]) for name in ("q", "k", "v")]
        codes, scales = [pair[0].contiguous() for pair in pairs], [pair[1] for pair in pairs]
        return [Attention(library, codes, scales, options["mask"] == "causal", out)]

    recoded = "" if options["scales"] == "tensor" else "coded again beforehand, with one scale for each tensor"
    name = f"cuDNN {version // 10000}.{version // 100 % 100}.{version % 100}"
    wide = options["out"]
    return [
        Rival("cuDNN e4m3", name, lambda problem: prepare(problem, "e4m3"), choices=Attention.choices,
              note="; ".join(note for note in ("e4m3 out", recoded) if note),
              finish=lambda attention, o: o.float() / attention.o_scale),
        Rival(f"cuDNN e4m3, {wide} out", name, lambda problem: prepare(problem, wide), choices=Attention.choices,
              note=recoded),
    ]


serve(("fp8_sdpa",), rivals_of)
