"""What the task quantise computes, in torch: every operation in f32, rounded once."""

import torch
import torch.nn.functional as F

LEAST_SCALE = 2.0**-64


def reference(x=None, x_bits=None, *, codes, scales, any_bits, **_):
    x = (x_bits if any_bits else x).float()
    heads, elements = x.shape
    if scales == "tensor":
        groups = x.reshape(1, 1, -1)
    elif scales == "head":
        groups = x.unsqueeze(1)
    else:
        groups = F.pad(x, (0, -elements % 128)).unflatten(1, (-1, 128))
    finite = torch.where(groups.isfinite(), groups, 0.0)
    low, high = (extremes.unsqueeze(-1) for extremes in (finite.amin(-1).clamp(max=0), finite.amax(-1).clamp(min=0)))
    # Divisors are tensors: torch multiplies by the reciprocal of a number.
    limit = torch.full_like(low, 255.0 if codes == "affine" else 448.0)
    if codes == "affine":
        scale = (high / limit - low / limit).clamp(min=LEAST_SCALE)
    else:
        scale = (torch.maximum(high, -low) / limit).clamp(min=LEAST_SCALE)
    constant = low == high
    scale = torch.where(constant, 1.0, scale)
    if codes == "affine":
        zero = torch.where(constant, 128.0, (-low / scale).round().clamp(0, 255))
        y = (groups / scale).round() + zero
        y = torch.where(groups.isnan(), zero, y).clamp(0, 255).to(torch.uint8)
    else:
        y = (groups / scale).clamp(-448, 448).to(torch.float8_e4m3fn).view(torch.uint8)
        y = torch.where(groups.isnan(), 127, y)
    y = y.flatten(1)[:, :elements] if scales == "group" else y.reshape(heads, elements)
    if codes == "affine":
        return y, scale.squeeze(-1), zero.squeeze(-1).to(torch.uint8)
    return y, scale.squeeze(-1)
