"""torch's calls routed to kernels that a search found; every call is counted, with the reason where it was not."""

from __future__ import annotations

import math
import sys
from collections import Counter
from typing import Any, Dict, List, NamedTuple, Sequence, Tuple, Union

from ._database import Candidate, Database, PathLike
from ._frames import frame_of_rows
from ._load import Kernel, load
from ._operators import NOT_CONTIGUOUS, Call, matched, operators
from ._program import MISSING, EvoError, document


class Seen(NamedTuple):
    """What calls were: torch's function with the shapes that it got, and why they were not routed (else "")."""

    function: str
    shapes: Tuple[Tuple[int, ...], ...]
    dtype: str
    why_not: str


class Applied:
    """The block of `with apply(...) as applied`. `calls` counts what happened, report() is a frame of it."""

    def __init__(self, kernels: Sequence[Kernel], verbose: bool, notes: Sequence[str] = ()) -> None:
        self.kernels = list(kernels)
        #: Which kernels of the database were left out and why, and which are provisional.
        self.notes = list(notes)
        self.calls: Counter[Seen] = Counter()
        self._verbose = verbose
        self._mode: Any = None

    @property
    def routed(self) -> int:
        """Calls that a kernel of the search computed."""
        return sum(count for seen, count in self.calls.items() if not seen.why_not)

    def report(self) -> Any:
        """A frame of the calls of torch's functions that tasks describe: how many, routed or why not."""
        rows = [
            {"function": seen.function, "shapes": " ".join(str(list(shape)) for shape in seen.shapes),
             "dtype": seen.dtype, "calls": count, "routed": not seen.why_not, "why_not": seen.why_not}
            for seen, count in sorted(self.calls.items())
        ]  # fmt: skip
        return frame_of_rows(rows, ["function", "shapes", "dtype", "calls", "routed", "why_not"])

    def __enter__(self) -> "Applied":
        self._mode = _mode(self)
        self._mode.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._mode.__exit__(*error)
        if self._verbose:
            print(self.summary(), file=sys.stderr)

    def summary(self) -> str:
        """A line of counts, and one for each reason that calls were not routed, and the notes."""
        total = sum(self.calls.values())
        lines = [f"evo: {self.routed} of {total} calls routed"]
        reasons: Counter[Tuple[str, str]] = Counter()
        for seen, count in self.calls.items():
            if seen.why_not:
                reasons[seen.function, seen.why_not] += count
        lines += [f"  {count} {function}: {why}" for (function, why), count in reasons.most_common()]
        return "\n".join([*lines, *(f"  {note}" for note in self.notes)])

    def _call(self, function: Any, name: str, match: Any, args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> Any:
        tensors = [one for one in [*args, *kwargs.values()] if hasattr(one, "shape") and hasattr(one, "dtype")]
        call = "autocast is on: it chooses the dtype" if _autocasts(tensors) else matched(match, args, kwargs)
        kernel = call if isinstance(call, str) else self._kernel_for(call)
        dtype = str(tensors[0].dtype).replace("torch.", "") if tensors else ""
        why_not = kernel if isinstance(kernel, str) else ""
        self.calls[Seen(name, tuple(tuple(one.shape) for one in tensors), dtype, why_not)] += 1
        if isinstance(call, str) or isinstance(kernel, str):
            return function(*args, **kwargs)
        return kernel(*call.tensors).reshape(call.shape)

    def _kernel_for(self, call: Call) -> Union[Kernel, str]:
        """The kernel of a call, or why there is none."""
        import torch

        if any(one.device.type != self._device for one in call.tensors):
            return f"a tensor is on {call.tensors[0].device}"
        if torch.is_grad_enabled() and any(one.requires_grad for one in call.tensors):
            return "it needs a gradient"
        if not all(one.is_contiguous() for one in call.tensors):
            return NOT_CONTIGUOUS
        of_task = [one for one in self.kernels if one.task == call.task]
        if not of_task:
            return f"no kernel of {call.task}: {call.command}"
        alike = [one for one in of_task if one.options == call.options]
        if not alike:
            return call.refusal or f"no kernel with these options: {call.command}"
        fitting = [one for one in alike if one.supports(*call.sizes)]
        if not fitting:
            return f"no kernel of this size: {call.command}"
        return min(fitting, key=lambda one: _distance(call.sizes, one.package.SEARCHED))

    #: Where the tensors of kernels are.
    _device = "cuda"


def _autocasts(tensors: Sequence[Any]) -> bool:
    import torch

    if not tensors:
        return False
    kind = tensors[0].device.type
    try:
        return bool(torch.is_autocast_enabled(kind))
    except TypeError:  # torch before 2.4.
        return bool(torch.is_autocast_cpu_enabled() if kind == "cpu" else torch.is_autocast_enabled())


def _distance(sizes: Sequence[int], searched: Sequence[Sequence[int]]) -> float:
    """Of sizes from the nearest that a kernel was timed at: 0 at the same, 1 for each factor of e in one of them."""
    between = [sum(abs(math.log(max(a, 1) / max(b, 1))) for a, b in zip(sizes, one)) for one in searched]
    return min(between, default=math.inf)


def _mode(applied: Applied) -> Any:
    from torch.overrides import TorchFunctionMode

    known = operators()

    class Mode(TorchFunctionMode):
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            if func not in known:
                return func(*args, **(kwargs or {}))
            return applied._call(func, *known[func], args, kwargs or {})

    return Mode()  # type: ignore[no-untyped-call]


def apply(what: Any, *, verbose: bool = True) -> Applied:
    """`with apply(db) as applied: model(x)`: torch's calls run on the kernels of a database.

    what: a database or its path, whose best kernels that were measured on this model of GPU are built and loaded, one
        for each task and objective; or a list of candidates, results and kernels. The kernel that was timed at the
        call's sizes computes it, else that of the nearest sizes. Calls are F.scaled_dot_product_attention, F.rms_norm, F.layer_norm, softmax, log_softmax, matmul and
        linear without a bias, where dtype, options and sizes are those of a kernel. Everything else runs as before.

    `applied.calls` and `applied.report()` say which calls were routed, and why others were not; a summary is printed
    at the end (verbose=False: none), with what of the database was left out or is provisional. Kernels have no backward: calls that need a gradient are not routed. Kernels of
    tasks that no call of torch is, such as FP8 attention, are used by load().
    """
    try:
        import torch  # noqa: F401
    except ImportError:
        raise EvoError("apply() needs torch", MISSING) from None
    notes: List[str] = []
    kernels = [one for part in _parts(what) for one in _kernels(part, notes)]
    return Applied(kernels, verbose, notes)


def _parts(what: Any) -> List[Any]:
    return list(what) if isinstance(what, (list, tuple)) else [what]


def _kernels(what: Any, notes: List[str]) -> List[Kernel]:
    if isinstance(what, Kernel):
        return [what]
    if isinstance(what, (Database, str)) or hasattr(what, "__fspath__"):
        db = what.path if isinstance(what, Database) else str(what)
        return [load(one) for one in _fitting(document(["elites", "--db", db])["elites"], db, notes)]
    return [load(what)]


def _fitting(elites: Sequence[Dict[str, Any]], db: str, notes: List[str]) -> List[Candidate]:
    """The best of each objective that were measured on this model of GPU, the fastest first; notes tell of others."""
    import torch

    model = torch.cuda.get_device_name() if torch.cuda.is_available() else "no GPU"
    found = []
    for one in sorted(elites, key=lambda one: float(one["latency_us"])):
        if one["rank"] != 1 or one["task"] not in {"f16_sdpa", "softmax", "rms_norm", "layer_norm", "gemm_bf16"}:
            continue
        name = f"candidate {one['candidate']} of {one['task']}"
        why = (
            "modelled, not measured" if one["timing"] != "measured"
            else f"measured on {one['device']['name']}, and this is {model}" if one["device"]["name"] != model
            else "" if one["current"] else "of an older version of its task"
        )  # fmt: skip
        if why:
            notes.append(f"{name} is left out: {why}")
            continue
        if one["provisional"]:
            notes.append(f"{name} is provisional: evo verify {one['candidate']} --db {db} makes its last checks")
        found.append(Candidate(one["candidate"], db))
    return found
