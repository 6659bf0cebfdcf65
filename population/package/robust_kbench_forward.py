"""__SUMMARY__

A task of robust-kbench. Written by evo export --format robust-kbench.
"""

import torch
import torch.nn as nn

__REFERENCE__


OPTIONS = {__OPTIONS__}


def the_output(results):
    return results[0] if isinstance(results, tuple) else results


def forward_fn(__TYPED_CALL__) -> torch.Tensor:
    """
    __SUMMARY__

    Args:
        __ARGUMENT_DOC__

    Returns:
        torch.Tensor: __OUTPUT_DOC__
    """
    return the_output(reference(__BY_NAME__, **OPTIONS)).to(__OUTPUT_DTYPE__)


class Model(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, __CALL__, fn=forward_fn):
        return fn(__CALL__)


__DRAWS__


def get_inputs(__SIZE_DEFAULTS__):
    return [
        __INPUTS__
    ]


input_names = [__INPUT_NAMES__]
