#!/usr/bin/env python3
"""Rivals: torch's own operations, and each backend of scaled_dot_product_attention."""

from rival import Rival, serve
from torch_calls import CALLS


def rivals_of(task):
    import torch

    if not torch.cuda.is_available():
        raise ImportError("torch finds no GPU")
    made = CALLS[task["task"]](task)
    version = f"torch {torch.__version__}"
    if not made.attention:
        return [Rival("torch", version, made.prepare, made.call, made.note)]
    from torch.nn.attention import SDPBackend, sdpa_kernel

    def through(backend):
        def call(*tensors):
            with sdpa_kernel(backend):
                return made.call(*tensors)

        return call

    cudnn = torch.backends.cudnn.version() or 0
    backends = [
        ("torch SDPA flash", SDPBackend.FLASH_ATTENTION, version),
        ("torch SDPA cuDNN", SDPBackend.CUDNN_ATTENTION,
         f"{version}, cuDNN {cudnn // 10000}.{cudnn // 100 % 100}.{cudnn % 100}"),
        ("torch SDPA efficient", SDPBackend.EFFICIENT_ATTENTION, version),
    ]
    return [Rival(name, of, made.prepare, through(backend), made.note) for name, backend, of in backends]


serve(CALLS, rivals_of)
