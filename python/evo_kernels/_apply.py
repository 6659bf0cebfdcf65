"""torch's calls routed to kernels that a search found; every call is counted, with the reason where it was not."""

from __future__ import annotations

import sys
from collections import Counter
from typing import Any, Dict, List, NamedTuple, Sequence, Tuple, Union

from ._database import Candidate, Database, PathLike
from ._frames import frame_of_rows
from ._load import Kernel, load
from ._operators import Call, matched, operators
from ._program import MISSING, EvoError, document


class Seen(NamedTuple):
    """What calls were: torch's function with the shapes that it got, and why they were not routed (else "")."""

    function: str
    shapes: Tuple[Tuple[int, ...], ...]
    dtype: str
    why_not: str


class Applied:
    """The block of `with apply(...) as applied`. `calls` counts what happened, report() is a frame of it."""

    def __init__(self, kernels: Sequence[Kernel], verbose: bool) -> None:
        self.kernels = list(kernels)
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
        """A line of counts, and one for each reason that calls were not routed."""
        total = sum(self.calls.values())
        lines = [f"evo: {self.routed} of {total} calls routed"]
        reasons: Counter[Tuple[str, str]] = Counter()
        for seen, count in self.calls.items():
            if seen.why_not:
                reasons[seen.function, seen.why_not] += count
        lines += [f"  {count} {function}: {why}" for (function, why), count in reasons.most_common()]
        return "\n".join(lines)

    def _call(self, function: Any, name: str, match: Any, args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> Any:
        call = matched(match, args, kwargs)
        kernel = call if isinstance(call, str) else self._kernel_for(call)
        tensors = [one for one in [*args, *kwargs.values()] if hasattr(one, "shape") and hasattr(one, "dtype")]
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
            return "a tensor is not contiguous"
        of_task = [one for one in self.kernels if one.task == call.task]
        if not of_task:
            return f"no kernel of {call.task}: {call.command}"
        alike = [one for one in of_task if one.options == call.options]
        if not alike:
            return call.refusal or f"no kernel with these options: {call.command}"
        fitting = [one for one in alike if one.supports(*call.sizes)]
        return fitting[0] if fitting else f"no kernel of this size: {call.command}"

    #: Where the tensors of kernels are.
    _device = "cuda"


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

    what: a database or its path, whose best kernel of each task, device and objective is built and loaded; or a list
        of candidates, results and kernels. Calls are F.scaled_dot_product_attention, F.rms_norm, softmax, matmul and
        linear without a bias, where dtype, options and sizes are those of a kernel. Everything else runs as before.

    `applied.calls` and `applied.report()` say which calls were routed, and why others were not; a summary is printed
    at the end (verbose=False: none). Kernels have no backward: calls that need a gradient are not routed. Kernels of
    tasks that no call of torch is, such as FP8 attention, are used by load().
    """
    try:
        import torch  # noqa: F401
    except ImportError:
        raise EvoError("apply() needs torch", MISSING) from None
    return Applied([one for part in _parts(what) for one in _kernels(part)], verbose)


def _parts(what: Any) -> List[Any]:
    return list(what) if isinstance(what, (list, tuple)) else [what]


def _kernels(what: Any) -> List[Kernel]:
    if isinstance(what, Kernel):
        return [what]
    if isinstance(what, (Database, str)) or hasattr(what, "__fspath__"):
        db = what.path if isinstance(what, Database) else str(what)
        tasks = {"f16_sdpa", "softmax", "rms_norm", "gemm_bf16"}
        best = [
            one
            for one in document(["elites", "--db", db])["elites"]
            if one["rank"] == 1 and one["task"] in tasks and one["current"]
        ]
        return [load(Candidate(one["candidate"], db)) for one in sorted(best, key=lambda one: one["latency_us"])]
    return [load(what)]
