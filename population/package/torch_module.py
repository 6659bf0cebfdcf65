"""__SUMMARY__

    import __NAME__
    __NAME__.__TASK__(__CALL__)

    __DOC__
"""
__IMPORTS__
import os
import warnings
from collections import Counter

import torch

from ._ops import add_op_namespace_prefix, ops
__REFERENCE_IMPORT__

__all__ = [__ALL__]

#: The day of the newest kernel, with a hash of all of them.
__version__ = "__VERSION__"
#: What the kernels were made for.
OPTIONS = {__OPTIONS__}
#: What the kernels are compiled for.
ARCHITECTURES = [__ARCHITECTURES__]
#: The sizes that the kernels were chosen by: __SIZES__.
SEARCHED = [__SEARCHED__]
#: How many calls torch computed instead of a kernel, by reason.
fallbacks = Counter()
_warned_of_sizes = False


def runs_on(device=None):
    """Whether a GPU runs the kernels. sm_90a is compute capability 9.0 alone, sm_80 is 8.0 and later ones of 8."""
    if not torch.cuda.is_available() or (device is not None and torch.device(device).type != "cuda"):
        return False
    major, minor = torch.cuda.get_device_capability(device)
    for name in ARCHITECTURES:
        number = int(name.strip("sm_af"))
        same = number == 10 * major + minor if name.endswith("a") else number // 10 == major and number % 10 <= minor
        if not same:
            return False
    return True


def supports(__SIZES__, device=None):
    """Whether there is a kernel for these sizes that the GPU runs. searched() says whether it was chosen for them."""
    return _has_kernel(__SIZES__) and runs_on(device)


def searched(__SIZES__):
    """Whether each size lies between those that kernels were chosen by. Beyond, kernels are right, but may be slow."""
    return all(min(known) <= size <= max(known) for size, *known in zip((__SIZES_ASSIGNED__), *SEARCHED))


def _has_kernel(__SIZES__):
    return __SUPPORT__


def _warn_beyond_search(*sizes):
    """Says once that a kernel computes sizes that no search was for."""
    global _warned_of_sizes
    if _warned_of_sizes or torch.compiler.is_compiling() or searched(*sizes):
        return
    _warned_of_sizes = True
    warnings.warn(f"__NAME__: no search was for __SIZES__ = {sizes}: the kernel is right, but was chosen by {SEARCHED}")


def _falls_back(why):
    """Says once for each reason that there is no kernel for a call, and counts. EVO_STRICT=1 refuses such calls."""
    if os.environ.get("EVO_STRICT") == "1":
        raise RuntimeError(f"__NAME__: {why}, and EVO_STRICT=1 forbids torch's own operations")
    if not fallbacks[why]:
        warnings.warn(f"__NAME__: {why}: torch's own operations compute such calls, which is slower")
    fallbacks[why] += 1


def _expect_dims(tensor, name, dims):
    if tensor.dim() != dims:
        raise RuntimeError(f"__NAME__: expected {name} to have {dims} dimensions, but got {tensor.dim()}")


def _expect(tensor, name, dtype, shape, first):
    if tensor.device != first.device:
        raise RuntimeError(f"__NAME__: expected all tensors to be on the same device, but {name} is on {tensor.device}")
    if tensor.dtype != dtype:
        raise RuntimeError(f"__NAME__: expected {name} to be {dtype}, but got {tensor.dtype}")
    _expect_dims(tensor, name, len(shape))
    if tuple(tensor.shape) != shape:
        raise RuntimeError(f"__NAME__: expected {name} of shape {list(shape)}, but got {list(tensor.shape)}")


def _sizes(__CALL__):
    __DIMS__
    return __SIZE_VALUES__


def _checked_sizes(__CALL__):
    __SIZES_ASSIGNED__ = _sizes(__CALL__)
    __EXPECTATIONS__
    return __SIZES_ASSIGNED__


@torch.library.register_fake(add_op_namespace_prefix("__TASK__"))
def _fake(__CALL__):
    __SIZES_ASSIGNED__ = _checked_sizes(__CALL__)
    return __NEW_OUTPUTS__


@torch.library.register_fake(add_op_namespace_prefix("__TASK___out"))
def _fake_out(__OUT_PARAMETERS__):
    _checked_sizes(__CALL__)


__BACKWARD__


def __TASK__(__CALL__, *, out=None):
    """__SUMMARY__

    __DOC__

    out: __OUT_DOC__. Without it they are new.
    """
    if out is not None and torch.is_grad_enabled() and any(tensor.requires_grad for tensor in (__READ_TUPLE__)):
        raise RuntimeError(
            "__NAME__.__TASK__(): functions with out=... arguments don't support automatic differentiation, "
            "but one of the arguments requires grad"
        )
    # What torch compiles was looked at before, without.
    of_call = _sizes(__CALL__)
    runs = __FIRST__.is_cuda and (torch.compiler.is_compiling() or runs_on(__FIRST__.device))
    if not runs or not _has_kernel(*of_call):
        return _outside(__CALL__, out)
    _warn_beyond_search(*of_call)
    if out is None:
        return ops.__TASK__(__CALL__)
    __OUT_CALL__
    return out


__OUTSIDE__
