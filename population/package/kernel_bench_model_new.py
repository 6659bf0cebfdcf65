# __NAME__ as a solution for KernelBench. Written by evo export --format kernelbench.
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

SOURCE = r'''__SOURCE__'''

extension = load_inline(
    name="__NAME__",
    cpp_sources="",
    cuda_sources=SOURCE,
    extra_cuda_cflags=[__FLAGS__],
)


class ModelNew(nn.Module):
    def forward(self, __CALL__):
        __CASTS__
        return extension.forward(__CALL__)
