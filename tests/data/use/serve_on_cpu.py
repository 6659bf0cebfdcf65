"""docs/examples/paged_serving.py on a CPU: the task's reference stands in for the kernel. Needs torch.

usage: python3 serve_on_cpu.py EXAMPLE REFERENCE [FAULT]

EXAMPLE and REFERENCE are the paths of paged_serving.py and of fp8_attention's reference.py. FAULT: pages (requests have the
pages of each other), key (the last key is not seen), stale (keys are not written). Exit code as the example's; 77: no torch."""

import runpy
import sys
import types

try:
    import torch
    import torch.nn.functional as F
except ImportError as error:
    print(f"skipped: {error}")
    raise SystemExit(77)


def attention_in_f32(q, k, v, is_causal):
    scores = q @ k.transpose(-2, -1) * q.shape[-1] ** -0.5
    seen = torch.ones(scores.shape[-2:], dtype=torch.bool).tril() if is_causal else torch.ones(scores.shape[-2:], dtype=torch.bool)
    return scores.masked_fill(~seen, float("-inf")).softmax(-1) @ v


# What an old torch lacks. The example does not mind codes of other bits: it decodes what it has stored.
if not hasattr(torch, "float8_e4m3fn"):
    torch.float8_e4m3fn = torch.float16
if not hasattr(F, "scaled_dot_product_attention"):
    F.scaled_dot_product_attention = attention_in_f32

example, reference = sys.argv[1:3]
fault = sys.argv[3] if len(sys.argv) > 3 else ""
task = runpy.run_path(reference)
OPTIONS = {"layout": "bshd", "causal": True, "window": 0, "log_sum_exp": False, "cu_seqlens": True, "page": 64, "softmax_scale": 0.0}


def fp8_attention(q, k, v, q_scale, k_scale, v_scale, cu_seqlens_q, page_table, kv_lengths, S_kv):
    assert page_table.shape == (len(kv_lengths), -(-S_kv // 64)) and k.shape[0] == page_table.numel(), "sizes do not agree"
    if fault == "pages":
        page_table = page_table.roll(1, 0)
    elif fault == "key":
        kv_lengths = (kv_lengths - 1).clamp(min=0)
    elif fault == "stale":
        k = torch.zeros_like(k)
    return task["reference"](q=q, k=k, v=v, q_scale=q_scale, k_scale=k_scale, v_scale=v_scale, cu_seqlens_q=cu_seqlens_q,
                             page_table=page_table, kv_lengths=kv_lengths, S_kv=S_kv, **OPTIONS).to(torch.bfloat16)


package = types.ModuleType("evo_fp8_attention")
package.fp8_attention = fp8_attention
sys.modules["evo_fp8_attention"] = package
torch.set_num_threads(1)
sys.exit(runpy.run_path(example)["main"]("cpu"))
