"""What the task f16_sdpa computes, in torch."""

import torch.nn.functional as F


def reference(q, k, v, *, mask, softmax_scale, **_):
    # softmax_scale 0 stands for 1 / sqrt(D), as None does in torch.
    return F.scaled_dot_product_attention(q, k, v, is_causal=mask == "causal", scale=softmax_scale or None)
