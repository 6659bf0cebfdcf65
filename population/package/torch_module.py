"""__SUMMARY__

    import __NAME__
    __NAME__.__TASK__(__CALL__)

    __DOC__
"""
__IMPORTS__

import torch

from ._ops import add_op_namespace_prefix, ops
__REFERENCE_IMPORT__

__all__ = [__ALL__]

#: What the kernels were made for.
OPTIONS = {__OPTIONS__}


def supports(__SIZES__):
    """Whether there is a kernel for these sizes."""
    return __SUPPORT__


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


def _no_backward(context, *gradients):
    raise RuntimeError(
        "__NAME__.__TASK__ has no backward: call it under torch.no_grad(), or detach its inputs"
    )


torch.library.register_autograd(add_op_namespace_prefix("__TASK__"), _no_backward)


def __TASK__(__CALL__, *, out=None):
    """__SUMMARY__

    __DOC__

    out: __OUT_DOC__. Without it they are new.
    """
    if not __FIRST__.is_cuda:
        raise RuntimeError(f"__NAME__: expected __FIRST__ to be a CUDA tensor, but it is on {__FIRST__.device}")
    if out is not None and torch.is_grad_enabled() and any(tensor.requires_grad for tensor in (__READ_TUPLE__)):
        raise RuntimeError(
            "__NAME__.__TASK__(): functions with out=... arguments don't support automatic differentiation, "
            "but one of the arguments requires grad"
        )
    if not supports(*_sizes(__CALL__)):
        return _outside(__CALL__, out)
    if out is None:
        return ops.__TASK__(__CALL__)
    __OUT_CALL__
    return out


__OUTSIDE__
