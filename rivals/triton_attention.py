#!/usr/bin/env python3
"""Rival: attention of E4M3 codes in Triton, with the probabilities in E4M3, too."""

import math

from rival import Rival, serve

try:  # Its functions must stand in the module.
    import triton
    import triton.language as tl
except ImportError:
    triton = None


# Rows and keys of a tile, warps, stages.
CONFIGURATIONS = (
    (64, 64, 4, 2), (64, 64, 4, 3), (64, 128, 4, 2), (64, 128, 4, 3), (128, 64, 4, 3), (128, 64, 8, 3), (128, 128, 8, 2),
    (128, 128, 8, 3),
)

if triton:
    @triton.jit
    def attend(q, k, v, q_scale, k_scale, v_scale, o, softmax_scale, S, v_row, D: tl.constexpr, CAUSAL: tl.constexpr,
               TRANSPOSED: tl.constexpr, PER_HEAD: tl.constexpr, ROWS: tl.constexpr, KEYS: tl.constexpr):
        head = tl.program_id(1).to(tl.int64)
        scale_of = head if PER_HEAD else head * 0
        rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
        channels = tl.arange(0, D)
        # The exponent in base 2 of a score of codes.
        slope = tl.load(q_scale + scale_of) * tl.load(k_scale + scale_of) * softmax_scale * 1.4426950408889634
        q_tile = tl.load(q + head * S * D + rows[:, None] * D + channels[None, :], mask=rows[:, None] < S, other=0.0)
        row_max = tl.full([ROWS], float("-inf"), tl.float32)
        row_sum = tl.zeros([ROWS], tl.float32)
        sums = tl.zeros([ROWS, D], tl.float32)
        end = tl.minimum((tl.program_id(0) + 1) * ROWS, S) if CAUSAL else S
        for first in range(0, end, KEYS):
            keys = first + tl.arange(0, KEYS)
            k_tile = tl.load(k + head * S * D + keys[None, :] * D + channels[:, None], mask=keys[None, :] < S, other=0.0)
            exponents = tl.dot(q_tile, k_tile) * slope
            seen = keys[None, :] < S
            if CAUSAL:
                seen = seen & (keys[None, :] <= rows[:, None])
            exponents = tl.where(seen, exponents, float("-inf"))
            new_max = tl.maximum(row_max, tl.max(exponents, 1))
            # Times 2^8: most of a row's probabilities are then no subnormals of E4M3. The sum has the factor, too.
            weights = tl.math.exp2(exponents - new_max[:, None] + 8.0)
            shrink = tl.math.exp2(row_max - new_max)
            row_sum = row_sum * shrink + tl.sum(weights, 1)
            row_max = new_max
            if TRANSPOSED:
                places = head * D * v_row + channels[None, :] * v_row + keys[:, None]
            else:
                places = head * S * D + keys[:, None] * D + channels[None, :]
            v_tile = tl.load(v + places, mask=keys[:, None] < S, other=0.0)
            sums = tl.dot(weights.to(tl.float8e4nv), v_tile, sums * shrink[:, None])
        values = sums * (tl.load(v_scale + scale_of) / row_sum)[:, None]
        tl.store(o + head * S * D + rows[:, None] * D + channels[None, :], values.to(o.dtype.element_ty),
                 mask=rows[:, None] < S)


def rivals_of(task):
    import torch

    if not triton:
        raise ImportError("no module named triton")
    if not torch.cuda.is_available():
        raise ImportError("torch finds no GPU")
    options = task["options"]
    causal, transposed = options["mask"] == "causal", options["v_layout"] == "transposed"
    dtype = torch.float16 if options["out"] == "f16" else torch.bfloat16

    def prepare(problem):
        inputs = problem.inputs
        o = torch.empty(inputs["q"].shape, dtype=dtype, device="cuda")
        return *(inputs[name] for name in ("q", "k", "v", "q_scale", "k_scale", "v_scale")), o

    def call_by(configuration):
        rows, keys, warps, stages = configuration

        def call(q, k, v, q_scale, k_scale, v_scale, o):
            batch, heads, length, width = q.shape
            attend[triton.cdiv(length, rows), batch * heads](
                q, k, v, q_scale, k_scale, v_scale, o, 1 / math.sqrt(width), length, v.shape[-1], width, causal,
                transposed, options["scales"] == "head", rows, keys, num_warps=warps, num_stages=stages)
            return o

        return call

    calls = [call_by(configuration) for configuration in CONFIGURATIONS]
    return [Rival("Triton e4m3", f"triton {triton.__version__}", prepare, choices=lambda *tensors: calls)]


serve(("fp8_sdpa",), rivals_of)
