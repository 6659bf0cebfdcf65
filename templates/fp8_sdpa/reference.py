"""What the task fp8_sdpa computes, in torch: scaled_dot_product_attention of the decoded codes, in f32."""

import torch.nn.functional as F


def reference(q, k, v, q_scale, k_scale, v_scale, *, mask, v_layout, **_):
    if v_layout == "transposed":
        v = v[..., : k.shape[2]].transpose(-2, -1)
    q, k, v = (
        codes.float() * scale[..., None, None] for codes, scale in ((q, q_scale), (k, k_scale), (v, v_scale))
    )
    return F.scaled_dot_product_attention(q, k, v, is_causal=mask == "causal")
