"""Arrays that kernels are called on: their dtypes and dims, where they lie on a GPU, and in which stream they are made."""

from __future__ import annotations

import contextlib
import re
from typing import Any, Callable, ContextManager, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from ._program import EvoError

#: The dtype of a task as torch calls it; those of kernels in C++ beside it.
TORCH_TYPES = {
    "float": "float32", "f32": "float32", "double": "float64", "f64": "float64", "half": "float16", "f16": "float16",
    "__half": "float16", "bf16": "bfloat16", "__nv_bfloat16": "bfloat16", "int": "int32", "s32": "int32",
    "s64": "int64", "s16": "int16", "s8": "int8", "u8": "uint8", "u16": "uint16", "u32": "uint32", "u64": "uint64",
    "bool": "bool", "e4m3": "float8_e4m3fn", "e5m2": "float8_e5m2",
}  # fmt: skip
#: What holds the bits of a dtype where a library lacks it.
_BITS = {"bfloat16": {"uint16", "void16"}, "float8_e4m3fn": {"uint8", "void8"}, "float8_e5m2": {"uint8", "void8"}}
_KINDS = {"f": "float", "i": "int", "u": "uint", "V": "void", "c": "complex"}


def check_array(whose: str, array: Any, dtype: str, dims: Sequence[str], sizes: Mapping[str, Any]) -> None:
    """Raises EvoError for an array of another dtype, or with other dims than these expressions say."""
    wanted, found = TORCH_TYPES.get(dtype), _dtype_of(array)
    if wanted and found and found != wanted and found not in _BITS.get(wanted, ()):
        raise EvoError(f"{whose} is {dtype}, not {found}")
    shape = getattr(array, "shape", None)
    for dim, size in zip(dims, shape or ()):
        value = dim_value(dim, sizes)
        if value is not None and value != size:
            raise EvoError(f"{whose} is [{', '.join(dims)}], where {dim} is {value}, not {list(shape or ())}")


def _dtype_of(array: Any) -> str:
    """As torch calls it; empty for an address."""
    if hasattr(array, "dtype"):
        return str(array.dtype).replace("torch.", "")
    kind = (getattr(array, "__cuda_array_interface__", None) or {}).get("typestr", "")
    return "bool" if kind[1:2] == "b" else f"{_KINDS.get(kind[1:2], kind)}{8 * int(kind[2:])}" if kind else ""


def dim_value(dim: str, names: Mapping[str, Any]) -> Optional[int]:
    """What a dim's expression of sizes and options is; None where it names something else."""
    known = {"ceil_div": lambda a, b: -(-a // b), "min": min, "max": max, "true": True, "false": False, **names}
    try:
        return int(eval(_in_python(_words(dim)), {"__builtins__": {}}, known))
    except NameError:
        return None


def _words(text: str) -> List[str]:
    return re.findall(r"'[^']*'|\w+|&&|\|\||[<>=!]=|\S", text)


def _in_python(words: List[str]) -> str:
    """The words of an expression of tasks, up to one that ends it, as Python has them."""
    own = {"&&": " and ", "||": " or ", "!": " not ", "/": "//"}
    text = ""
    while words and words[0] not in ("?", ":", ")", ","):
        word = words.pop(0)
        if word == "(":
            parts = [_in_python(words)]
            while words and words.pop(0) == ",":
                parts.append(_in_python(words))
            text += f"({', '.join(parts)})"
        else:
            text += own.get(word, word)
    if words and words[0] == "?":
        words.pop(0)
        chosen = _in_python(words)
        words.pop(0)
        return f"({chosen} if {text} else {_in_python(words)})"
    return text


class Tensor(NamedTuple):
    """A tensor that a kernel takes."""

    name: str
    use: str  # "in", "out", "in out" of a launcher, "inout" of a form
    dtype: str
    dims: Tuple[str, ...]


def add_sizes(
    sizes: Dict[str, int], tensors: Sequence[Tensor], arrays: Sequence[Any], is_size: Callable[[str], bool], of: str = ""
) -> None:
    """Adds what the shapes of arrays tell. Raises EvoError where they contradict each other."""
    for tensor, array in zip(tensors, arrays):
        shape = getattr(array, "shape", None)
        if shape is None:
            continue
        if len(shape) != len(tensor.dims):
            raise EvoError(f"{of}{tensor.name} is [{', '.join(tensor.dims)}], not {list(shape)}")
        for name, size in zip(tensor.dims, shape):
            if is_size(name) and sizes.setdefault(name, int(size)) != size:
                raise EvoError(f"{of}{name} is {sizes[name]}, and {tensor.name} has {size} of it")


def address_of(array: Any) -> int:
    """Where an array lies on the GPU. Raises EvoError for one that is not dense."""
    if isinstance(array, int):
        return array
    if is_torch(array):  # Its interface lacks 8-bit floats and bf16.
        if not (array.is_cuda and array.is_contiguous()):
            raise EvoError(f"tensors must be on the GPU and contiguous: one is on {array.device}")
        return int(array.data_ptr())
    facts = getattr(array, "__cuda_array_interface__", None)
    if facts is None:
        raise EvoError(f"a {type(array).__name__} is no array of the GPU: it has no __cuda_array_interface__")
    if facts.get("strides") is not None:
        raise EvoError("arrays must be dense and row-major")
    return int(facts["data"][0])


def is_torch(array: Any) -> bool:
    return type(array).__module__.split(".")[0] == "torch"


def torch_device(arrays: Sequence[Any]) -> Any:
    """That of torch's tensors among the arrays; None where there are none. Raises EvoError where they have several."""
    devices = {str(one.device): one.device for one in arrays if is_torch(one)}
    if len(devices) > 1:
        raise EvoError(f"the tensors are on several devices: {', '.join(sorted(devices))}")
    return next(iter(devices.values()), None)


def current_stream(device: Any) -> int:
    """That which torch works in on the tensors' device, else the default one."""
    if device is None:
        return 0
    import torch

    return int(torch.cuda.current_stream(device).cuda_stream)


def on_device(device: Any) -> ContextManager[Any]:
    """Makes the tensors' device the current one: a launch needs that of its stream."""
    if device is None:
        return contextlib.nullcontext()
    import torch

    return torch.cuda.device(device)  # type: ignore[no-any-return]
