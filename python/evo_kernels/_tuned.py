"""A Python function that a tuned kernel stands for: searched at the first call of a size, launched later."""

from __future__ import annotations

import functools
import hashlib
import json
import os
import re
import sys
import tempfile
import warnings
from collections import Counter
from pathlib import Path
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple, Union

from ._arrays import TORCH_TYPES, Tensor, add_sizes, check_array, dim_value, is_torch
from ._database import Candidate, PathLike
from ._load import ArrayKernel, load
from ._program import DATABASE, EvoError, document
from ._reference import reference_source
from ._tune import placed, tune

_ARGUMENT = re.compile(r"^\s*(\w+)\s*=\s*(?:(inout|in|out|scratch)\s+)?([\w:]+)\s*\[([^\]]*)\]")
#: Of the form, what says where and how long is searched, and not what.
_SEARCH = ("device", "time", "evals", "db", "progress")


class Tuned:
    """What @tuned makes of a function. Calls return the outputs as new arrays; inputs are not changed."""

    def __init__(self, function: Callable[..., Any], key: Sequence[str], form: Mapping[str, Any]) -> None:
        functools.update_wrapper(self, function)
        self._function = function
        self._key = list(key)
        self._form = dict(form)
        self._arguments = _tensor_arguments(form["arguments"])
        self._taken = [one for one in self._arguments if one.use != "out"]
        self._launchers: Dict[Tuple[int, ...], ArrayKernel] = {}
        self._found: Dict[Tuple[int, ...], Candidate] = {}
        #: How many calls were "launched", and how many "computed in Python" for want of a GPU.
        self.calls: Counter[str] = Counter()

    def __call__(self, *arrays: Any) -> Any:
        if len(arrays) != len(self._taken):
            names = ", ".join(one.name for one in self._taken)
            raise EvoError(f"{self._function.__name__} takes {names}: {len(arrays)} arrays were given")
        sizes = self._sizes(arrays)
        key = tuple(sizes[name] for name in self._key)
        if _device(self._form["device"])["kind"] != "cuda":
            if not self.calls["computed in Python"]:
                warnings.warn(f"{self._function.__name__}: no GPU: calls are computed in Python", stacklevel=2)
            self.calls["computed in Python"] += 1
            return self._function(**{one.name: array for one, array in zip(self._taken, arrays)})
        if key not in self._launchers:
            self._launchers[key] = load(self.best(sizes), arrays="cuda")
        results = self._launched(self._launchers[key], arrays, sizes)
        self.calls["launched"] += 1
        return results if len(results) > 1 else results[0]

    def best(self, sizes: Mapping[str, int]) -> Candidate:
        """The kernel of these sizes: known, of the database, or searched now."""
        key = tuple(sizes[name] for name in self._key)
        if key not in self._found:
            name, shape = self._task(key), {one: int(sizes[one]) for one in sizes}
            self._found[key] = (
                self._known(name) or tune(**self._form, shapes=[shape], reference=self._function, name=name).best
            )
        return self._found[key]

    def _task(self, key: Sequence[int]) -> str:
        """The function's name with the key's sizes and a hash of all that decides what is right and what is searched."""
        form = {name: value for name, value in self._form.items() if name not in (*_SEARCH, "kernel", "source")}
        with tempfile.TemporaryDirectory(prefix="evo-") as folder:
            kernel = placed(str(self._form["kernel"]), self._form.get("source"), Path(folder))
            files = {
                str(file.relative_to(folder)): file.read_text(encoding="utf-8")
                for file in sorted(Path(folder).rglob("*"))
                if file.is_file()
            }
        reference = reference_source(self._function, [one.name for one in self._taken])
        text = json.dumps([form, kernel, files, reference], sort_keys=True, default=str)
        sizes = [f"{name}{size}" for name, size in zip(self._key, key)]
        return "_".join([self._function.__name__, *sizes, hashlib.sha256(text.encode()).hexdigest()[:8]])

    def _known(self, task: str) -> Optional[Candidate]:
        db = self._form["db"]
        if not os.path.exists(db):
            return None
        device = _device(self._form["device"])
        for elite in document(["elites", "--db", str(db)])["elites"]:
            same = elite["device"]["kind"] == device["kind"] and elite["device"]["name"] == device["name"]
            if same and elite["rank"] == 1 and elite["task"] == task and elite["current"]:
                return Candidate(elite["candidate"], db)
        return None

    def _sizes(self, arrays: Sequence[Any]) -> Dict[str, int]:
        sizes: Dict[str, int] = {}
        add_sizes(sizes, self._taken, arrays, str.isidentifier)
        for argument, array in zip(self._taken, arrays):
            check_array(argument.name, array, argument.dtype, argument.dims, sizes)
        missing = [name for name in self._key if name not in sizes]
        if missing:
            raise EvoError(f"key {', '.join(missing)}: no argument has it as a dimension")
        return sizes

    def _launched(self, kernel: ArrayKernel, arrays: Sequence[Any], sizes: Mapping[str, int]) -> List[Any]:
        given = iter(arrays)
        by_name: Dict[str, Any] = {}
        outputs: List[Any] = []
        for argument in self._arguments:
            array = next(given) if argument.use != "out" else _empty(argument, sizes, arrays[0])
            if argument.use == "inout":
                array = array.clone() if is_torch(array) else array.copy()
            if argument.use != "in":
                outputs.append(array)
            by_name[argument.name] = array
        # The launcher takes inputs first; a name that is a word of C++ has a _ there.
        ordered = [by_name[one.name if one.name in by_name else one.name.rstrip("_")] for one in kernel.tensors]
        own = {name: size for name, size in sizes.items() if name in kernel.sizes}
        bytes_ = kernel.workspace_bytes(**own)
        workspace = _new((bytes_,), "uint8", arrays[0]) if bytes_ else None
        kernel(*ordered, workspace=workspace, **own)
        return outputs


def tuned(
    kernel: str,
    genes: Mapping[str, Sequence[Any]],
    arguments: Sequence[str],
    *,
    key: Sequence[str],
    device: str = "auto",
    time: Optional[str] = "30s",
    evals: Optional[int] = None,
    db: PathLike = DATABASE,
    progress: bool = True,
    **more: Any,
) -> Callable[[Callable[..., Any]], Tuned]:
    """Makes a Python function the reference of a kernel that is tuned when it is first called with new sizes.

    key: the sizes for each of which a kernel is searched: ["N"]. They are dimensions of `arguments`. The other
    arguments are those of tune(); the function is the reference. The first call of a key looks the database up, and
    searches for `time` or `evals` where it has no kernel of the function, of the same sources, on the same device.
    Later calls launch it. Where there is no GPU the function itself computes: `calls` counts, a warning says so once.
    """
    form = {"kernel": kernel, "genes": genes, "arguments": arguments, "device": device, "time": time, "evals": evals,
            "db": str(db), "progress": progress, **more}  # fmt: skip

    def decorated(function: Callable[..., Any]) -> Tuned:
        return Tuned(function, key, form)

    return decorated


def _tensor_arguments(arguments: Sequence[str]) -> List[Tensor]:
    found = [match for match in map(_ARGUMENT.match, arguments) if match and match[2] != "scratch"]
    return [
        Tensor(one[1], one[2] or "in", one[3], tuple(dim.strip() for dim in re.split(r",(?![^(]*\))", one[4])))
        for one in found
    ]


@functools.lru_cache(maxsize=None)
def _device(name: str) -> Mapping[str, Any]:
    """What the program means by a device: {"kind": "cuda", "name": "NVIDIA H200", ...}."""
    return document(["space", "--task", "softmax", "--device", name])["device"]


def _empty(argument: Tensor, sizes: Mapping[str, int], like: Any) -> Any:
    """A new array of the same library as `like`."""
    shape = [dim_value(dim, sizes) for dim in argument.dims]
    if None in shape:
        raise EvoError(f"{argument.name} is [{', '.join(argument.dims)}]: the inputs have no such sizes")
    return _new(shape, TORCH_TYPES.get(argument.dtype, argument.dtype), like)


def _new(shape: Sequence[Any], dtype: str, like: Any) -> Any:
    library = sys.modules[type(like).__module__.split(".")[0]]
    if is_torch(like):
        return library.empty(tuple(shape), dtype=getattr(library, dtype), device=like.device)
    return library.empty(tuple(shape), dtype=dtype)
