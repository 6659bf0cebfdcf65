#!/usr/bin/env python3
"""What fp8_attention is held against, measured with torch: prints a line of JSON.

copy_tb_s: bytes read and written in a second by a copy within the GPU. Others: microseconds of bf16 attention by backend
of torch's scaled_dot_product_attention, of decode (64,32,8,1,4096,128) and causal prefill (1,32,8,8192,8192,128); null
where a backend refuses the call.
"""

import json
import statistics

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

BACKENDS = {"cudnn": SDPBackend.CUDNN_ATTENTION, "flash": SDPBackend.FLASH_ATTENTION}


def median_us(call, rounds=30):
    for _ in range(5):
        call()
    begun, ended = ([torch.cuda.Event(enable_timing=True) for _ in range(rounds)] for _ in range(2))
    for i in range(rounds):
        begun[i].record()
        call()
        ended[i].record()
    torch.cuda.synchronize()
    return statistics.median(a.elapsed_time(b) * 1000 for a, b in zip(begun, ended))


def copy_tb_s():
    source = torch.empty(1 << 30, dtype=torch.uint8, device="cuda")
    target = torch.empty_like(source)
    return 2 * source.numel() / median_us(lambda: target.copy_(source)) / 1e6


def attention_us(backend, B, H, H_kv, S_q, S_kv, D, causal):
    q = torch.randn(B, H, S_q, D, dtype=torch.bfloat16, device="cuda")
    k, v = (torch.randn(B, H_kv, S_kv, D, dtype=torch.bfloat16, device="cuda") for _ in range(2))
    try:
        with sdpa_kernel(backend):
            return median_us(lambda: scaled_dot_product_attention(q, k, v, is_causal=causal, enable_gqa=True))
    except RuntimeError:
        return None


print(json.dumps({
    "torch": torch.__version__,
    "copy_tb_s": copy_tb_s(),
    "decode": {name: attention_us(backend, 64, 32, 8, 1, 4096, 128, False) for name, backend in BACKENDS.items()},
    "prefill": {name: attention_us(backend, 1, 32, 8, 8192, 8192, 128, True) for name, backend in BACKENDS.items()},
}))
