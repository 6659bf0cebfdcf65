"""Where a model's time goes, which of its calls tasks describe, and the commands that search kernels for them."""

from __future__ import annotations

import time
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

from ._frames import frame_of_rows
from ._operators import Call, matched, operators
from ._program import MISSING, EvoError

_NAMES = ["function", "shapes", "dtype", "calls", "time_us", "share", "of_floor", "task", "command", "why_not"]


class Operator(NamedTuple):
    """Calls of one function of torch with the same shapes."""

    function: str
    shapes: Tuple[Tuple[int, ...], ...]
    dtype: str


class Profile:
    """The calls of a model, those that take the most time first."""

    def __init__(self, rows: List[Dict[str, Any]], device: str) -> None:
        self.rows = rows
        #: Where the calls ran: "cuda" (timed by events) or "cpu".
        self.device = device

    def table(self) -> Any:
        """A frame: function, shapes, dtype, calls, time_us of all of them, share of the whole, and either the task that
        describes the call with the command that searches a kernel for it, or why no task does. of_floor: on a GPU, the
        time that no kernel can beat over the time that a call took: what is near 1 is not worth a search."""
        return frame_of_rows(self.rows, _NAMES)

    @property
    def covered(self) -> float:
        """The share of the time that calls take which tasks describe."""
        return sum(row["share"] for row in self.rows if row["task"])

    @property
    def commands(self) -> List[str]:
        """The searches for the calls that tasks describe, the most promising first."""
        return [row["command"] for row in self.rows if row["command"]]

    def _repr_html_(self) -> str:
        return str(self.table()._repr_html_())

    def __repr__(self) -> str:
        return f"{self.table()!r}\ntasks describe calls that take {self.covered:.0%} of the time, on {self.device}"


def profile(model: Any, inputs: Any, *, warm_up: int = 1) -> Profile:
    """Runs model(*inputs) and lists the calls of torch that take its time.

    inputs: a tensor, a tuple of arguments or a dict of keywords. Runs without gradients; `warm_up` runs come before.
    Times are those of single calls, on a GPU by events: calls that a compiler would fuse are listed one by one.
    """
    try:
        import torch
        from torch.overrides import TorchFunctionMode
    except ImportError:
        raise EvoError("profile() needs torch", MISSING) from None
    known = operators()
    spent: Dict[Operator, List[Tuple[Any, Any]]] = {}
    matches: Dict[Operator, Any] = {}
    on_gpu = torch.cuda.is_available() and any(one.is_cuda for one in _tensors(inputs))

    class Mode(TorchFunctionMode):
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            given = kwargs or {}
            began = _mark(torch, on_gpu)
            result = func(*args, **given)
            ended = _mark(torch, on_gpu)
            tensors = _tensors([*args, *given.values()])
            if not tensors or not _computes(result):
                return result
            name, match = known.get(func, (getattr(func, "__name__", str(func)), None))
            dtype = str(tensors[0].dtype).replace("torch.", "")
            operator = Operator(name, tuple(tuple(one.shape) for one in tensors), dtype)
            spent.setdefault(operator, []).append((began, ended))
            if operator not in matches:
                matches[operator] = _without_tensors(matched(match, args, given) if match else "no task describes it")
            return result

    with torch.no_grad():
        for _ in range(warm_up):
            _run(model, inputs)
        with Mode():  # type: ignore[no-untyped-call]
            _run(model, inputs)
    if on_gpu:
        torch.cuda.synchronize()
    times = {operator: sum(_between_us(began, ended, on_gpu) for began, ended in all_of) for operator, all_of in spent.items()}
    whole = sum(times.values()) or 1.0
    rows = []
    for operator in sorted(spent, key=lambda one: -times[one]):
        match = matches[operator]
        call: Optional[Call] = match if isinstance(match, Call) and not match.refusal else None
        floor = call.floor_us("cuda:0") if call and on_gpu else None
        count = len(spent[operator])
        rows.append(
            {
                "function": operator.function,
                "shapes": " ".join(str(list(shape)) for shape in operator.shapes),
                "dtype": operator.dtype,
                "calls": count,
                "time_us": times[operator],
                "share": times[operator] / whole,
                "of_floor": floor * count / times[operator] if floor else None,
                "task": call.task if call else "",
                "command": call.command if call else "",
                "why_not": "" if call else match.refusal if isinstance(match, Call) else match,
            }
        )
    return Profile(rows, "cuda" if on_gpu else "cpu")


def _run(model: Any, inputs: Any) -> Any:
    if isinstance(inputs, dict):
        return model(**inputs)
    return model(*inputs) if isinstance(inputs, (tuple, list)) else model(inputs)


def _tensors(values: Any) -> List[Any]:
    listed = values.values() if isinstance(values, dict) else values if isinstance(values, (list, tuple)) else [values]
    return [one for one in listed if hasattr(one, "is_cuda") and hasattr(one, "shape")]


def _computes(result: Any) -> bool:
    """Sizes and flags of tensors are asked by functions of torch, too."""
    return bool(_tensors(result))


def _without_tensors(match: Any) -> Any:
    """What is kept of a call must not keep its tensors."""
    return match._replace(tensors=()) if isinstance(match, Call) else match


def _mark(torch: Any, on_gpu: bool) -> Any:
    if not on_gpu:
        return time.perf_counter()
    event = torch.cuda.Event(enable_timing=True)
    event.record()
    return event


def _between_us(began: Any, ended: Any, on_gpu: bool) -> float:
    return float(began.elapsed_time(ended)) * 1e3 if on_gpu else (ended - began) * 1e6
