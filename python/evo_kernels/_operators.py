"""torch's calls that tasks describe: which task, with which options and sizes, and which tensors its kernel takes."""

from __future__ import annotations

import functools
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple, Union

from ._program import EvoError, document


class Call(NamedTuple):
    """A call of torch as a call of a task's kernel."""

    task: str
    options: Dict[str, Any]
    sizes: Tuple[int, ...]
    tensors: Tuple[Any, ...]
    shape: Tuple[int, ...]  # Of torch's result; the kernel's has the same elements in the same order.

    @property
    def problem(self) -> List[str]:
        """The task, its shape and options, as the program takes them."""
        options = [part for name, value in self.options.items() for part in ("--option", f"{name}={_text(value)}")]
        return ["--task", self.task, "--shapes", ",".join(map(str, self.sizes)), *options]

    @property
    def command(self) -> str:
        """That which searches a kernel for it."""
        return " ".join(["evo run", *self.problem])

    @property
    def refusal(self) -> str:
        """Which option the task does not have; empty: it has all."""
        known = _options_of_tasks().get(self.task, {})
        lacking = [f"{name}={_text(value)}" for name, value in self.options.items() if value not in known.get(name, [])]
        return f"the task {self.task} has no {', '.join(lacking)}" if lacking else ""

    def floor_us(self, device: str) -> Optional[float]:
        """The time that no kernel can beat on a device; None where its rates are not known."""
        try:
            floors = document(["space", *self.problem, "--device", device])["floors"]
        except EvoError:  # The task has no such size.
            return None
        return float(floors[0]["floor_us"]) if floors else None


#: A reshape would copy it, which costs as much as a kernel.
NOT_CONTIGUOUS = "a tensor is not contiguous"

#: What a call is: a kernel's call, or why there is no task for it.
Matched = Union[Call, str]


@functools.lru_cache(maxsize=None)
def _options_of_tasks() -> Dict[str, Dict[str, List[Any]]]:
    return {task["name"]: task["options"] for task in document(["tasks"])["tasks"] if task["problem"] is None}


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _dtype(tensor: Any) -> str:
    """The options' name for it: "f16"; torch's own where the tasks have none."""
    name = str(tensor.dtype).replace("torch.", "")
    return {"float16": "f16", "bfloat16": "bf16", "float32": "f32"}.get(name, name)


def _attention(
    query: Any,
    key: Any,
    value: Any,
    attn_mask: Any = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: Optional[float] = None,
    enable_gqa: bool = False,
) -> Matched:
    if attn_mask is not None:
        return "a mask that is a tensor"
    if dropout_p:
        return "dropout"
    if query.dim() != 4 or query.shape != key.shape or key.shape != value.shape:
        return "q, k and v are not all [B, H, S, D] of one shape"
    if _dtype(query) not in ("f16", "bf16"):
        return f"dtype {query.dtype}"
    options = {
        "dtype": _dtype(query),
        "mask": "causal" if is_causal else "none",
        "softmax_scale": 0.0 if scale is None else float(scale),
    }
    return Call("f16_sdpa", options, tuple(query.shape), (query, key, value), tuple(query.shape))


def _softmax(
    input: Any, dim: Optional[int] = None, _stacklevel: int = 3, dtype: Any = None, *, logarithm: bool = False
) -> Matched:
    if dim is None or input.dim() == 0 or dim % input.dim() != input.dim() - 1:
        return "not over the last dimension"
    if dtype is not None and dtype != input.dtype:
        return "its result has another dtype"
    if _dtype(input) not in ("f16", "bf16", "f32"):
        return f"dtype {input.dtype}"
    if not input.is_contiguous():
        return NOT_CONTIGUOUS
    rows = input.reshape(1, -1, input.shape[-1])
    options = {"dtype": _dtype(input), "causal": False, "logarithm": logarithm}
    return Call("softmax", options, tuple(rows.shape), (rows,), tuple(input.shape))


def _softmax_of_torch(input: Any, dim: Optional[int] = None, dtype: Any = None) -> Matched:
    return _softmax(input, dim, dtype=dtype)


def _log_softmax(input: Any, dim: Optional[int] = None, _stacklevel: int = 3, dtype: Any = None) -> Matched:
    return _softmax(input, dim, dtype=dtype, logarithm=True)


def _log_softmax_of_torch(input: Any, dim: Optional[int] = None, dtype: Any = None) -> Matched:
    return _softmax(input, dim, dtype=dtype, logarithm=True)


def _norm(
    task: str, input: Any, normalized_shape: Any, weight: Any, bias: Any, options: Dict[str, Any]
) -> Matched:
    if tuple(normalized_shape) != tuple(input.shape[-1:]):
        return "it normalises something else than the last dimension"
    if weight is None:
        return "there is no weight"
    parameters = (weight,) if bias is None else (weight, bias)
    if any(one.dtype != input.dtype for one in parameters):
        return "weight or bias and input have different dtypes"
    if not input.is_contiguous():
        return NOT_CONTIGUOUS
    rows = input.reshape(-1, input.shape[-1])
    options = {"dtype": _dtype(input), **options}
    return Call(task, options, tuple(rows.shape), (rows, *parameters), tuple(input.shape))


def _layer_norm(
    input: Any, normalized_shape: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5
) -> Matched:
    options = {"has_bias": bias is not None, "epsilon": float(eps)}
    return _norm("layer_norm", input, normalized_shape, weight, bias, options)


def _rms_norm(input: Any, normalized_shape: Any, weight: Any = None, eps: Optional[float] = None) -> Matched:
    if eps is None:
        return "epsilon is the dtype's own"
    options = {"residual": False, "quant": "none", "epsilon": float(eps)}
    return _norm("rms_norm", input, normalized_shape, weight, None, options)


def _matmul(input: Any, other: Any) -> Matched:
    if input.dim() < 2 or other.dim() != 2:
        return "the right factor is no matrix"
    if _dtype(input) != "bf16" or _dtype(other) != "bf16":
        return f"dtype {input.dtype}"
    if not input.is_contiguous():
        return NOT_CONTIGUOUS
    a = input.reshape(-1, input.shape[-1])
    shape = (*input.shape[:-1], other.shape[1])
    sizes = (a.shape[0], other.shape[1], a.shape[1])
    # A transposed matrix, such as a layer's weight, lies as [N, K].
    if other.t().is_contiguous() and not other.is_contiguous():
        return Call("gemm_bf16", {"out": "bf16", "b_layout": "nk"}, sizes, (a, other.t()), shape)
    return Call("gemm_bf16", {"out": "bf16", "b_layout": "kn"}, sizes, (a, other), shape)


def _linear(input: Any, weight: Any, bias: Any = None) -> Matched:
    return "it adds a bias" if bias is not None else _matmul(input, weight.t())


def operators() -> Dict[Any, Tuple[str, Callable[..., Matched]]]:
    """The functions of torch that tasks describe, with their names."""
    import torch
    import torch.nn.functional as F

    found: List[Tuple[Any, str, Callable[..., Matched]]] = [
        (F.softmax, "softmax", _softmax),
        (torch.softmax, "softmax", _softmax_of_torch),
        (torch.Tensor.softmax, "softmax", _softmax_of_torch),
        (F.log_softmax, "log_softmax", _log_softmax),
        (torch.log_softmax, "log_softmax", _log_softmax_of_torch),
        (torch.Tensor.log_softmax, "log_softmax", _log_softmax_of_torch),
        (F.layer_norm, "layer_norm", _layer_norm),
        (F.linear, "linear", _linear),
        (torch.matmul, "matmul", _matmul),
        (torch.mm, "matmul", _matmul),
        (torch.Tensor.matmul, "matmul", _matmul),
        (torch.Tensor.mm, "matmul", _matmul),
        (torch.Tensor.__matmul__, "matmul", _matmul),
    ]
    if hasattr(F, "scaled_dot_product_attention"):
        found.append((F.scaled_dot_product_attention, "scaled_dot_product_attention", _attention))
    if hasattr(F, "rms_norm"):
        found.append((F.rms_norm, "rms_norm", _rms_norm))
    return {function: (name, match) for function, name, match in found}


def matched(match: Callable[..., Matched], args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> Matched:
    try:
        return match(*args, **kwargs)
    except (TypeError, AttributeError, IndexError, ZeroDivisionError) as error:
        return f"its arguments: {error}"
