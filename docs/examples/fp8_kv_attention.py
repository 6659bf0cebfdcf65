#!/usr/bin/env python3
"""An attention module that keeps its keys and values in FP8, and the same module with scaled_dot_product_attention.

    evo run --task fp8_sdpa --device cuda:0 --shapes 1,8,4096,128
    evo export --task fp8_sdpa --format torch -o evo_fp8_sdpa
    pip install --no-build-isolation --no-deps ./evo_fp8_sdpa
    python3 docs/examples/fp8_kv_attention.py 1,8,4096,128

Prints how far the outputs are apart and the time of both, of the attention alone and of the whole module.
"""

import sys

import evo_fp8_sdpa
import torch
import torch.nn.functional as F

LARGEST = 448.0  # of E4M3


def quantised(x):
    """Codes of 8 bits and a scale for each head."""
    scale = x.abs().amax(dim=(2, 3)).float().clamp(min=1e-12) / LARGEST
    return (x.float() / scale[..., None, None]).to(torch.float8_e4m3fn).contiguous(), scale


class Attention(torch.nn.Module):
    def __init__(self, heads, head_dim):
        super().__init__()
        self.heads = heads
        self.qkv = torch.nn.Linear(heads * head_dim, 3 * heads * head_dim, bias=False)
        self.out = torch.nn.Linear(heads * head_dim, heads * head_dim, bias=False)

    def project(self, x):
        return self.qkv(x).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4).unbind(0)

    def attend(self, q, k, v):
        return F.scaled_dot_product_attention(q, k, v)

    def forward(self, x):
        return self.out(self.attend(*self.project(x)).transpose(1, 2).flatten(2))


class Fp8KvAttention(Attention):
    """Its keys and values are kept as FP8 codes, half the size."""

    def attend(self, q, k, v):
        (q, q_scale), (k, k_scale), (v, v_scale) = quantised(q), quantised(k), quantised(v)
        return evo_fp8_sdpa.fp8_sdpa(q, k, v, q_scale, k_scale, v_scale)


def microseconds(function):
    """Median time of a call in a CUDA graph of 20."""
    function()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(20):
            function()
    times = []
    for _ in range(30):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        graph.replay()
        end.record()
        end.synchronize()
        times.append(1000 * begin.elapsed_time(end) / 20)
    return sorted(times)[len(times) // 2]


def main():
    batch, heads, length, head_dim = (int(size) for size in (sys.argv[1:] or ["1,8,4096,128"])[0].split(","))
    torch.manual_seed(0)
    plain = Attention(heads, head_dim).cuda().half().eval()
    fp8 = Fp8KvAttention(heads, head_dim).cuda().half().eval()
    fp8.load_state_dict(plain.state_dict())
    x = torch.randn(batch, length, heads * head_dim, device="cuda", dtype=torch.float16)
    with torch.no_grad():
        want, got = plain(x), fp8(x)
        error = ((got.double() - want.double()).norm() / want.double().norm()).item()
        q, k, v = (tensor.contiguous() for tensor in plain.project(x))
        codes = [quantised(tensor) for tensor in (q, k, v)]
        tensors = [code for code, _ in codes] + [scale for _, scale in codes]
        alone = microseconds(lambda: F.scaled_dot_product_attention(q, k, v))
        alone_fp8 = microseconds(lambda: evo_fp8_sdpa.fp8_sdpa(*tensors))
        whole, whole_fp8 = microseconds(lambda: plain(x)), microseconds(lambda: fp8(x))
        compiled = torch.compile(fp8, fullgraph=True)
        whole_compiled = microseconds(lambda: compiled(x))
    supported = evo_fp8_sdpa.supports(batch, heads, length, head_dim)
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, B,H,S,D = {batch},{heads},{length},{head_dim}")
    print(f"kernel for this size: {'yes' if supported else 'no, torch computes it'}")
    print(f"relative L2 distance of the outputs: {error:.4f}")
    print(f"attention alone:  scaled_dot_product_attention {alone:8.1f} us, evo_fp8_sdpa {alone_fp8:8.1f} us")
    print(f"whole module:     {whole:8.1f} us, with FP8 keys and values {whole_fp8:8.1f} us, compiled {whole_compiled:8.1f} us")
    if not error < 0.1:
        sys.exit("the outputs are too far apart")


main()
