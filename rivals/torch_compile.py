#!/usr/bin/env python3
"""Rivals: what torch.compile makes of torch's operations."""

from rival import Rival, serve
from torch_calls import CALLS


def rivals_of(task):
    import torch

    if not torch.cuda.is_available():
        raise ImportError("torch finds no GPU")
    made = CALLS[task["task"]](task)
    # evo puts the calls into a CUDA graph itself. What max-autotune takes for faster is not always so in a graph.
    compiled = [torch.compile(made.call, mode=mode, dynamic=False) for mode in ("max-autotune-no-cudagraphs", "default")]
    return [Rival("torch.compile", f"torch {torch.__version__}", made.prepare, note=made.note,
                  choices=lambda *tensors: compiled)]


serve(CALLS, rivals_of)
