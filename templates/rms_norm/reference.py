"""What the task rms_norm computes, in torch."""

import torch


def reference(x, weight, residual_sum=None, *, residual, quant, epsilon, **_):
    if residual:
        x = residual_sum = (residual_sum.float() + x.float()).to(x.dtype)
    kept = (residual_sum,) if residual else ()
    y = x.float()
    y = y * torch.rsqrt(y.square().mean(-1, keepdim=True) + epsilon) * weight.float()
    if quant == "none":
        return *kept, y
    groups = y.unflatten(-1, (-1, 128 if quant == "group" else y.shape[-1]))
    scale = groups.abs().amax(-1, keepdim=True) / 448
    scale = torch.where(scale > 0, scale, 1.0)
    return *kept, (groups / scale).flatten(-2), scale.squeeze(-1)
