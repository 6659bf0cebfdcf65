"""What the task sim_fp8_sdpa computes, in torch: scaled_dot_product_attention of the decoded codes, in f32."""

import torch
import torch.nn.functional as F


def reference(q, k, v, q_scale, k_scale, v_scale, q_zero, k_zero, v_zero, *, mask, softmax_scale, **_):
    q, k, v = (
        (codes.float() - zero.float()[..., None, None]) * scale[..., None, None]
        for codes, zero, scale in ((q, q_zero, q_scale), (k, k_zero, k_scale), (v, v_zero, v_scale))
    )
    seen = None
    if mask == "causal":  # The last query sees all keys.
        rows, columns = q.shape[2], k.shape[2]
        seen = torch.ones(rows, columns, dtype=torch.bool, device=q.device).tril(columns - rows)
    # softmax_scale 0 stands for 1 / sqrt(D), as None does in torch.
    return F.scaled_dot_product_attention(q, k, v, attn_mask=seen, scale=softmax_scale or None)
