"""What the task scan computes, in torch."""

import torch


def reference(x, *, exclusive, **_):
    sums = torch.cumsum(x.double(), 0)
    return torch.cat((sums.new_zeros(1), sums[:-1])) if exclusive else sums
