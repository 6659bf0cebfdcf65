#!/usr/bin/env python3
"""Rival: NVIDIA's library of matrix products, called through its C interfaces. The fastest of its ways is taken: cuBLAS as it
chooses for itself, and the algorithms that the heuristic of cuBLASLt names for workspaces of several sizes."""

import ctypes
import ctypes.util

from rival import Refusal, Rival, serve

# cublasLt.h, cublas_api.h, library_types.h
COMPUTE_32F = 68
TYPES = {"torch.float32": 0, "torch.float16": 2, "torch.bfloat16": 14, "torch.float8_e4m3fn": 28}
DESC_TRANSA, DESC_A_SCALE_POINTER, DESC_B_SCALE_POINTER, DESC_FAST_ACCUMULATION = 3, 17, 18, 25
DESC_A_SCALE_MODE, DESC_B_SCALE_MODE = 31, 32
# What scales are of, for the left matrix and the right one: all, each row or column, 128 x 128 and 1 x 128 blocks.
SCALE_MODES = {"tensor": (0, 0), "rows": (3, 3), "blocks": (5, 4)}
LAYOUT_BATCH_COUNT, LAYOUT_STRIDE = 5, 6
PREFERENCE_WORKSPACE = 1
OPERATIONS = {False: 0, True: 1}  # By whether the matrix is transposed.
DEFAULT_ALGORITHM = -1
WORKSPACE_BYTES = 64 << 20
# What the heuristic names first depends on the workspace that it may use.
WORKSPACE_LIMITS = (WORKSPACE_BYTES, 32 << 20, 4 << 20, 0)
ALGORITHMS = 16


class Algorithm(ctypes.Structure):
    _fields_ = [("data", ctypes.c_uint64 * 8)]


class Heuristic(ctypes.Structure):
    _fields_ = [("algorithm", Algorithm), ("workspace", ctypes.c_size_t), ("state", ctypes.c_int),
                ("waves", ctypes.c_float), ("reserved", ctypes.c_int * 4)]


def load(library):
    for name in (f"lib{library}.so.13", f"lib{library}.so.12", ctypes.util.find_library(library)):
        try:
            if name:
                return ctypes.CDLL(name)
        except OSError:
            continue
    raise ImportError(f"lib{library} is not installed")


def check(status, what):
    if status != 0:
        raise Refusal(f"{what}: cuBLAS status {status}")


class Matrix:
    """One in cuBLAS's column-major words, or as many as the batch has, `stride` elements apart."""

    def __init__(self, tensor, rows, columns, leading, stride=0):
        self.tensor, self.rows, self.columns, self.leading, self.stride = tensor, rows, columns, leading, stride
        self.dtype = TYPES[str(tensor.dtype)]
        self.pointer = ctypes.c_void_p(tensor.data_ptr())


class Product:
    """target = alpha left right, for a batch of matrices; left_transposed: left^T in place of left."""

    def __init__(self, left, right, target, left_transposed, alpha, batch=1, scales=(), scaling="tensor", fast=False):
        import torch

        self.left, self.right, self.target, self.left_transposed = left, right, target, left_transposed
        self.batch, self.scales, self.scale_modes, self.fast = batch, scales, SCALE_MODES[scaling], fast
        self.alpha, self.beta = ctypes.c_float(alpha), ctypes.c_float(0)
        self.workspace = torch.empty(WORKSPACE_BYTES, dtype=torch.uint8, device="cuda")


def stream():
    import torch

    return ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)


class CublasCall:
    """One product by cuBLAS, which chooses its kernel itself, as torch has it."""

    def __init__(self, library, product):
        self.library, self.product = library, product
        self.handle = ctypes.c_void_p()
        check(library.cublasCreate_v2(ctypes.byref(self.handle)), "cublasCreate")

    def __call__(self):
        library, product = self.library, self.product
        left, right, target = product.left, product.right, product.target
        check(library.cublasSetStream_v2(self.handle, stream()), "cublasSetStream")
        # After the stream, which takes an earlier workspace away.
        check(library.cublasSetWorkspace_v2(self.handle, ctypes.c_void_p(product.workspace.data_ptr()),
                                            ctypes.c_size_t(WORKSPACE_BYTES)), "cublasSetWorkspace")
        check(library.cublasGemmEx(
            self.handle, OPERATIONS[product.left_transposed], OPERATIONS[False], target.rows, target.columns, right.rows,
            ctypes.byref(product.alpha), left.pointer, left.dtype, left.leading, right.pointer, right.dtype, right.leading,
            ctypes.byref(product.beta), target.pointer, target.dtype, target.leading, COMPUTE_32F, DEFAULT_ALGORITHM),
            "cublasGemmEx")
        return target.tensor


class CublasLtCall:
    """One product by an algorithm of cuBLASLt."""

    def __init__(self, library, product):
        self.library, self.product = library, product
        self.handle, self.description = ctypes.c_void_p(), ctypes.c_void_p()
        check(library.cublasLtCreate(ctypes.byref(self.handle)), "cublasLtCreate")
        check(library.cublasLtMatmulDescCreate(ctypes.byref(self.description), COMPUTE_32F, TYPES["torch.float32"]),
              "cublasLtMatmulDescCreate")
        self.describe(DESC_TRANSA, ctypes.c_int32(OPERATIONS[product.left_transposed]))
        for attribute, scale in zip((DESC_A_SCALE_POINTER, DESC_B_SCALE_POINTER), product.scales):
            self.describe(attribute, ctypes.c_void_p(scale.data_ptr()))
        if product.fast:
            self.describe(DESC_FAST_ACCUMULATION, ctypes.c_int8(1))
        if any(product.scale_modes):
            for attribute, mode in zip((DESC_A_SCALE_MODE, DESC_B_SCALE_MODE), product.scale_modes):
                self.describe(attribute, ctypes.c_int32(mode))
        self.layouts = [self.layout(matrix) for matrix in (product.left, product.right, product.target)]

    def describe(self, attribute, value):
        check(self.library.cublasLtMatmulDescSetAttribute(self.description, attribute, ctypes.byref(value),
                                                          ctypes.c_size_t(ctypes.sizeof(value))),
              "cublasLtMatmulDescSetAttribute")

    def layout(self, matrix):
        layout = ctypes.c_void_p()
        check(self.library.cublasLtMatrixLayoutCreate(
            ctypes.byref(layout), matrix.dtype, ctypes.c_uint64(matrix.rows), ctypes.c_uint64(matrix.columns),
            ctypes.c_int64(matrix.leading)), "cublasLtMatrixLayoutCreate")
        for attribute, value in ((LAYOUT_BATCH_COUNT, ctypes.c_int32(self.product.batch)),
                                 (LAYOUT_STRIDE, ctypes.c_int64(matrix.stride))):
            check(self.library.cublasLtMatrixLayoutSetAttribute(layout, attribute, ctypes.byref(value),
                                                                ctypes.c_size_t(ctypes.sizeof(value))),
                  "cublasLtMatrixLayoutSetAttribute")
        return layout

    def algorithms(self, workspace_limit):
        preference, bytes_ = ctypes.c_void_p(), ctypes.c_size_t(workspace_limit)
        check(self.library.cublasLtMatmulPreferenceCreate(ctypes.byref(preference)), "cublasLtMatmulPreferenceCreate")
        check(self.library.cublasLtMatmulPreferenceSetAttribute(preference, PREFERENCE_WORKSPACE, ctypes.byref(bytes_),
                                                                ctypes.c_size_t(ctypes.sizeof(bytes_))),
              "cublasLtMatmulPreferenceSetAttribute")
        found, count = (Heuristic * ALGORITHMS)(), ctypes.c_int()
        left, right, target = self.layouts
        status = self.library.cublasLtMatmulAlgoGetHeuristic(
            self.handle, self.description, left, right, target, target, preference, ALGORITHMS, found, ctypes.byref(count))
        return [found[i].algorithm for i in range(count.value) if found[i].state == 0] if status == 0 else []

    def __call__(self, algorithm):
        product, (left, right, target) = self.product, self.layouts
        check(self.library.cublasLtMatmul(
            self.handle, self.description, ctypes.byref(product.alpha), product.left.pointer, left, product.right.pointer, right,
            ctypes.byref(product.beta), product.target.pointer, target, product.target.pointer, target,
            ctypes.byref(algorithm), ctypes.c_void_p(product.workspace.data_ptr()), ctypes.c_size_t(WORKSPACE_BYTES),
            stream()), "cublasLtMatmul")
        return product.target.tensor


def choices(cublas, lt):
    """A call by each way. An algorithm for one set of buffers serves the others, whose shapes and alignment are the same."""
    named = {bytes(algorithm): algorithm for limit in WORKSPACE_LIMITS for algorithm in lt.algorithms(limit)}
    ways = [lambda cublas, lt, algorithm=algorithm: lt(algorithm) for algorithm in named.values()]
    if cublas:
        ways.append(lambda cublas, lt: cublas())
    if not ways:
        raise Refusal("cuBLASLt has no algorithm for this product")
    return ways


def matrix_product(problem):
    """Row-major c = a b is column-major c^T = b^T a^T."""
    import torch

    m, n, k = (problem.sizes[name] for name in "MNK")
    dtype = torch.bfloat16 if problem.options["out"] == "bf16" else torch.float32
    c = torch.empty(m, n, dtype=dtype, device="cuda")
    transposed = problem.options["b_layout"] == "nk"
    b = Matrix(problem.inputs["b"], *((k, n, k) if transposed else (n, k, n)))
    return Product(b, Matrix(problem.inputs["a"], k, m, k), Matrix(c, n, m, n), transposed, 1)


def coded_product(problem):
    """The same of codes; scales of 1 x 128 blocks have the rows innermost."""
    import torch

    m, n, k = (problem.sizes[name] for name in "MNK")
    scaling = problem.options["scaling"]
    if scaling == "blocks" and (k % 512 or n % 128):
        raise Refusal("cuBLASLt has scales of whole blocks, four or more in a row")
    c = torch.empty(m, n, dtype=torch.bfloat16, device="cuda")
    a, b, a_scale, b_scale = (problem.inputs[name] for name in ("a", "b", "a_scale", "b_scale"))
    if scaling == "blocks":
        a_scale = a_scale.t().contiguous()
    return Product(Matrix(b, k, n, k), Matrix(a, k, m, k), Matrix(c, n, m, n), True, 1, scales=(b_scale, a_scale),
                   scaling=scaling, fast=problem.options["fast_accumulation"] and scaling != "blocks")


def score_product(problem):
    import torch

    batch, m, n, d = (problem.inputs["q"].shape[0] * problem.inputs["q"].shape[1], *(problem.sizes[s] for s in "MND"))
    dtype = torch.float16 if problem.options["out"] == "f16" else torch.float32
    s = torch.empty(batch, m, n, dtype=dtype, device="cuda")
    alpha = d**-0.5 if problem.options["scaled"] else 1.0
    scales = [problem.inputs[name].reshape(1) for name in ("k_scale", "q_scale")]
    k, q = Matrix(problem.inputs["k"], d, n, d, n * d), Matrix(problem.inputs["q"], d, m, d, m * d)
    return Product(k, q, Matrix(s, n, m, n, n * m), True, alpha, batch, scales)


def rivals_of(task):
    import torch  # It holds the tensors and loads its own cuBLAS, if it has one.

    if not torch.cuda.is_available():
        raise ImportError("torch finds no GPU")
    if task["task"] == "fp8_qkt" and task["options"]["scales"] != "tensor":
        raise Refusal("cuBLASLt has one scale for a tensor, not one for each head")
    make = {"gemm_bf16": matrix_product, "gemm_fp8": coded_product, "fp8_qkt": score_product}[task["task"]]
    lt = load("cublasLt")
    cublas = load("cublas") if make is matrix_product else None  # cuBLASLt alone takes codes.
    lt.cublasLtGetVersion.restype = ctypes.c_size_t
    number = lt.cublasLtGetVersion()

    def prepare(problem):
        product = make(problem)
        return cublas and CublasCall(cublas, product), CublasLtCall(lt, product)

    version = f"cuBLASLt {number // 10000}.{number // 100 % 100}.{number % 100}"
    return [Rival("cuBLAS", version, prepare, choices=choices)]


serve(("gemm_bf16", "gemm_fp8", "fp8_qkt"), rivals_of)
