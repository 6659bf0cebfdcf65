"""What the task norm_backward computes, in torch."""

import torch


def reference(x, weight, dy, *, norm, epsilon, **_):
    values, gradient = x.float(), dy.float() * weight.float()
    if norm == "layer":
        values = values - values.mean(-1, keepdim=True)
    inverse = torch.rsqrt(values.square().mean(-1, keepdim=True) + epsilon)
    normalised = values * inverse
    dx = gradient - normalised * (gradient * normalised).mean(-1, keepdim=True)
    if norm == "layer":
        dx = dx - gradient.mean(-1, keepdim=True)
    dweight = (dy.float() * normalised).sum(0)
    return (dx * inverse, dweight, dy.float().sum(0)) if norm == "layer" else (dx * inverse, dweight)
