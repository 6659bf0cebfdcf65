"""A Python function as a task's reference.py: its source, with the names that it uses from around it."""

from __future__ import annotations

import inspect
import textwrap
import types
from typing import Any, Callable, Dict, List, Set

from ._program import EvoError

_PLAIN = (bool, int, float, complex, str, bytes, tuple, list, dict, type(None))

_WITH_TORCH = '''

def reference(**given):
    return @FUNCTION@(**{name: given[name] for name in @TAKEN@ if name in given})
'''

_WITH_NUMPY = '''

def reference(**given):
    import numpy

    results = @FUNCTION@(**{name: _array(given[name]) for name in @TAKEN@ if name in given})
    results = results if isinstance(results, (tuple, list)) else (results,)
    return tuple(_tensor(numpy.ascontiguousarray(result)) for result in results)


def _array(value):
    # numpy has no bf16 and no 8-bit floats: they come as f32.
    if not hasattr(value, "detach"):
        return value
    return (value.float() if value.is_floating_point() and value.element_size() < 4 else value).cpu().numpy()


def _tensor(array):
    try:
        import torch
    except ImportError:
        return array
    return torch.from_numpy(array)
'''


def reference_source(function: Callable[..., Any], keywords: List[str]) -> str:
    """The text of a reference.py whose `reference` calls the function with the inputs that it names.

    keywords: the names of a task's inputs and options. The source holds modules as imports, other functions as their
    sources and plain values as they are. Raises EvoError for a name that is none of these, and for a function without
    a source.
    """
    parts: List[str] = []
    modules: Set[str] = set()
    _add(function, parts, set(), modules)
    name = function.__name__
    call = _WITH_NUMPY if "numpy" in modules and "torch" not in modules else _WITH_TORCH
    parameters = inspect.signature(function).parameters.values()
    taken = list(keywords)
    if not any(one.kind is inspect.Parameter.VAR_KEYWORD for one in parameters):
        taken = [one.name for one in parameters]
        unknown = [
            one.name for one in parameters if one.name not in keywords and one.default is inspect.Parameter.empty
        ]
        if unknown:
            raise EvoError(
                f"the reference {name} takes {', '.join(unknown)}: the task's inputs and options are "
                f"{', '.join(keywords)}"
            )
    return "\n\n".join(parts) + call.replace("@FUNCTION@", name).replace("@TAKEN@", repr(taken))


def _add(function: Callable[..., Any], parts: List[str], seen: Set[str], modules: Set[str]) -> None:
    """The function's source after those of the names that it uses."""
    name = function.__name__
    seen.add(name)
    try:
        text = textwrap.dedent(inspect.getsource(function))
    except (OSError, TypeError):
        raise EvoError(f"the source of the reference {name} cannot be read: write it into a file") from None
    if not text.startswith("def ") and "\ndef " not in text:
        raise EvoError(f"the reference {name} must be a function that is defined by def")
    text = text[text.index("def ") :] if not text.startswith("def ") else text
    around: Dict[str, Any] = dict(inspect.getclosurevars(function).globals)
    around.update(inspect.getclosurevars(function).nonlocals)
    for used, value in sorted(around.items()):
        if used in seen:
            continue
        if isinstance(value, types.ModuleType):
            modules.add(value.__name__.split(".")[0])
            parts.append(f"import {value.__name__} as {used}")
            seen.add(used)
        elif isinstance(value, types.FunctionType) and _own(value):
            _add(value, parts, seen, modules)
            if value.__name__ != used:
                parts.append(f"{used} = {value.__name__}")
                seen.add(used)
        elif isinstance(value, _PLAIN):
            parts.append(f"{used} = {value!r}")
            seen.add(used)
        elif hasattr(value, "__module__") and hasattr(value, "__name__"):
            modules.add(str(value.__module__).split(".")[0])
            parts.append(f"from {value.__module__} import {value.__name__} as {used}")
            seen.add(used)
        else:
            raise EvoError(
                f"the reference {name} uses {used}, a {type(value).__name__}, which cannot be written into a file: "
                "make it inside the function"
            )
    parts.append(text.rstrip())


def _own(function: types.FunctionType) -> bool:
    """Whether its source travels: functions of installed packages are imported."""
    file = inspect.getsourcefile(function) or ""
    return "site-packages" not in file and "dist-packages" not in file
