#!/usr/bin/env python3
"""Rival: cuBLASLt, called through its C interface. The fastest algorithm of those that its heuristic names is taken."""

import ctypes
import ctypes.util

from rival import Refusal, Rival, serve

# cublasLt.h, cublas_api.h, library_types.h
COMPUTE_32F = 68
TYPES = {"torch.float32": 0, "torch.float16": 2, "torch.bfloat16": 14, "torch.float8_e4m3fn": 28}
DESC_TRANSA, DESC_A_SCALE_POINTER, DESC_B_SCALE_POINTER = 3, 17, 18
LAYOUT_BATCH_COUNT, LAYOUT_STRIDE = 5, 6
PREFERENCE_WORKSPACE = 1
WORKSPACE_BYTES = 64 << 20
ALGORITHMS = 16


class Algorithm(ctypes.Structure):
    _fields_ = [("data", ctypes.c_uint64 * 8)]


class Heuristic(ctypes.Structure):
    _fields_ = [("algorithm", Algorithm), ("workspace", ctypes.c_size_t), ("state", ctypes.c_int),
                ("waves", ctypes.c_float), ("reserved", ctypes.c_int * 4)]


def load():
    for name in ("libcublasLt.so.13", "libcublasLt.so.12", ctypes.util.find_library("cublasLt")):
        try:
            library = ctypes.CDLL(name) if name else None
        except OSError:
            continue
        if library:
            library.cublasLtGetVersion.restype = ctypes.c_size_t
            return library
    raise ImportError("libcublasLt is not installed")


def check(status, what):
    if status != 0:
        raise Refusal(f"{what}: cuBLAS status {status}")


class Product:
    """d = alpha a^T b in cuBLAS's column-major words, for a batch of matrices one behind the other.

    `left` and `right` are (tensor, rows, columns, leading dimension, batch stride); left_transposed asks for a^T."""

    def __init__(self, library, left, right, target, left_transposed, alpha, batch=1, scales=()):
        import torch

        self.library, self.alpha, self.beta = library, ctypes.c_float(alpha), ctypes.c_float(0)
        self.left, self.right, self.target = left[0], right[0], target[0]
        self.handle, self.description = ctypes.c_void_p(), ctypes.c_void_p()
        check(library.cublasLtCreate(ctypes.byref(self.handle)), "cublasLtCreate")
        check(library.cublasLtMatmulDescCreate(ctypes.byref(self.description), COMPUTE_32F, TYPES["torch.float32"]),
              "cublasLtMatmulDescCreate")
        self.describe(DESC_TRANSA, ctypes.c_int32(1 if left_transposed else 0))
        self.scales = scales
        for attribute, scale in zip((DESC_A_SCALE_POINTER, DESC_B_SCALE_POINTER), scales):
            self.describe(attribute, ctypes.c_void_p(scale.data_ptr()))
        self.layouts = [self.layout(matrix, batch) for matrix in (left, right, target)]
        self.workspace = torch.empty(WORKSPACE_BYTES, dtype=torch.uint8, device="cuda")

    def describe(self, attribute, value):
        check(self.library.cublasLtMatmulDescSetAttribute(self.description, attribute, ctypes.byref(value),
                                                          ctypes.c_size_t(ctypes.sizeof(value))),
              "cublasLtMatmulDescSetAttribute")

    def layout(self, matrix, batch):
        tensor, rows, columns, leading, stride = matrix
        layout = ctypes.c_void_p()
        check(self.library.cublasLtMatrixLayoutCreate(
            ctypes.byref(layout), TYPES[str(tensor.dtype)], ctypes.c_uint64(rows), ctypes.c_uint64(columns),
            ctypes.c_int64(leading)), "cublasLtMatrixLayoutCreate")
        for attribute, value in ((LAYOUT_BATCH_COUNT, ctypes.c_int32(batch)), (LAYOUT_STRIDE, ctypes.c_int64(stride))):
            check(self.library.cublasLtMatrixLayoutSetAttribute(layout, attribute, ctypes.byref(value),
                                                                ctypes.c_size_t(ctypes.sizeof(value))),
                  "cublasLtMatrixLayoutSetAttribute")
        return layout

    def algorithms(self):
        preference, bytes_ = ctypes.c_void_p(), ctypes.c_size_t(WORKSPACE_BYTES)
        check(self.library.cublasLtMatmulPreferenceCreate(ctypes.byref(preference)), "cublasLtMatmulPreferenceCreate")
        check(self.library.cublasLtMatmulPreferenceSetAttribute(preference, PREFERENCE_WORKSPACE, ctypes.byref(bytes_),
                                                                ctypes.c_size_t(ctypes.sizeof(bytes_))),
              "cublasLtMatmulPreferenceSetAttribute")
        found, count = (Heuristic * ALGORITHMS)(), ctypes.c_int()
        left, right, target = self.layouts
        check(self.library.cublasLtMatmulAlgoGetHeuristic(
            self.handle, self.description, left, right, target, target, preference, ALGORITHMS, found,
            ctypes.byref(count)), "cublasLtMatmulAlgoGetHeuristic")
        return [found[i].algorithm for i in range(count.value) if found[i].state == 0]

    def run(self, algorithm):
        import torch

        def pointer(tensor):
            return ctypes.c_void_p(tensor.data_ptr())

        left, right, target = self.layouts
        check(self.library.cublasLtMatmul(
            self.handle, self.description, ctypes.byref(self.alpha), pointer(self.left), left, pointer(self.right),
            right, ctypes.byref(self.beta), pointer(self.target), target, pointer(self.target), target,
            ctypes.byref(algorithm), pointer(self.workspace), ctypes.c_size_t(WORKSPACE_BYTES),
            ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)), "cublasLtMatmul")
        return self.target



def choices(product):
    """A call by each algorithm: those of one set of buffers serve the others, whose shapes and alignment are the same."""
    algorithms = product.algorithms()
    if not algorithms:
        raise Refusal("cuBLASLt has no algorithm for this product")
    return [lambda product, algorithm=algorithm: product.run(algorithm) for algorithm in algorithms]


def matrix_product(library, problem):
    """Row-major c = a b is column-major c^T = b^T a^T."""
    import torch

    m, n, k = (problem.sizes[name] for name in "MNK")
    dtype = torch.bfloat16 if problem.options["out"] == "bf16" else torch.float32
    c = torch.empty(m, n, dtype=dtype, device="cuda")
    transposed = problem.options["b_layout"] == "nk"
    b = (problem.inputs["b"], *((k, n, k) if transposed else (n, k, n)), 0)
    return [Product(library, b, (problem.inputs["a"], k, m, k, 0), (c, n, m, n, 0), transposed, 1)]


def score_product(library, problem):
    import torch

    batch, m, n, d = (problem.inputs["q"].shape[0] * problem.inputs["q"].shape[1], *(problem.sizes[s] for s in "MND"))
    dtype = torch.float16 if problem.options["out"] == "f16" else torch.float32
    s = torch.empty(batch, m, n, dtype=dtype, device="cuda")
    alpha = d**-0.5 if problem.options["scaled"] else 1.0
    scales = [problem.inputs[name].reshape(1) for name in ("k_scale", "q_scale")]
    k, q = (problem.inputs["k"], d, n, d, n * d), (problem.inputs["q"], d, m, d, m * d)
    return [Product(library, k, q, (s, n, m, n, n * m), True, alpha, batch, scales)]


def rivals_of(task):
    import torch  # It holds the tensors and loads its own cuBLASLt, if it has one.

    if not torch.cuda.is_available():
        raise ImportError("torch finds no GPU")
    if task["task"] == "fp8_qkt" and task["options"]["scales"] != "tensor":
        raise Refusal("cuBLASLt has one scale for a tensor, not one for each head")
    library = load()
    number = library.cublasLtGetVersion()
    made = matrix_product if task["task"] == "gemm_bf16" else score_product
    version = f"cuBLASLt {number // 10000}.{number // 100 % 100}.{number % 100}"
    return [Rival("cuBLASLt", version, lambda problem: made(library, problem), choices=choices)]


serve(("gemm_bf16", "fp8_qkt"), rivals_of)
