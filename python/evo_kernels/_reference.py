"""A Python function as a task's reference.py: its source, with the names that it uses from around it."""

from __future__ import annotations

import ast
import builtins
import dis
import inspect
import math
import sys
import sysconfig
import textwrap
import types
from typing import Any, Callable, Dict, List, Optional, Set, Tuple

from ._program import EvoError

_WITH_TORCH = '''

_function = @FUNCTION@


def reference(**given):
    return _function(**{name: given[name] for name in @TAKEN@ if name in given})
'''

_WITH_NUMPY = '''

_function = @FUNCTION@


def reference(**given):
    import numpy

    results = _function(**{name: _array(given[name]) for name in @TAKEN@ if name in given})
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
    parts: List[str] = ["from __future__ import annotations"]
    modules: Set[str] = set()
    _add(function, parts, {}, modules)
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


def _add(function: Callable[..., Any], parts: List[str], seen: Dict[str, Any], modules: Set[str]) -> None:
    """The function's source after those of the names that it uses."""
    name = function.__name__
    _see(seen, name, function)
    text, definition = _definition(function)
    for used, value in sorted(_around(function, definition).items()):
        if not _see(seen, used, value):
            continue
        written = _written(value)
        if isinstance(value, types.ModuleType):
            modules.add(value.__name__.split(".")[0])
            parts.append(f"import {value.__name__} as {used}")
        elif isinstance(value, types.FunctionType) and _own(value):
            _add(value, parts, seen, modules)
            if value.__name__ != used:
                parts.append(f"{used} = {value.__name__}")
        elif written is not None:
            parts.append(f"{used} = {written}")
        elif _imported(value, function):
            modules.add(str(value.__module__).split(".")[0])
            parts.append(f"from {value.__module__} import {value.__name__} as {used}")
        else:
            raise EvoError(
                f"the reference {name} uses {used}, a {type(value).__name__}, which cannot be written into a file: "
                "make it inside the function"
            )
    modules.update(_annotated(function, definition))
    parts.append(text)


def _see(seen: Dict[str, Any], name: str, value: Any) -> bool:
    """Whether the name is new. Raises EvoError where it means another thing in another file."""
    if name in seen and seen[name] is not value and _written(seen[name]) != _written(value):
        raise EvoError(f"the reference uses two different things that are called {name}: rename one")
    return name not in seen and not seen.update({name: value})


def _definition(function: Callable[..., Any]) -> Tuple[str, ast.FunctionDef]:
    """Its source from "def" on, without decorators."""
    name = function.__name__
    try:
        text = textwrap.dedent(inspect.getsource(function))
    except (OSError, TypeError):
        raise EvoError(f"the source of the reference {name} cannot be read: write it into a file") from None
    try:
        found = ast.parse(text).body[0]
    except SyntaxError:  # A lambda within a call.
        found = None
    if not isinstance(found, ast.FunctionDef):
        raise EvoError(f"the reference {name} must be a function that is defined by def")
    return "\n".join(text.splitlines()[found.lineno - 1 :]).rstrip(), found


def _around(function: Callable[..., Any], definition: ast.FunctionDef) -> Dict[str, Any]:
    """What its code, that of functions within it, and its defaults name of the outside."""
    globals_: Dict[str, Any] = function.__globals__
    around = {name: globals_[name] for name in _global_names(function.__code__) if name in globals_}
    around.update(inspect.getclosurevars(function).nonlocals)
    spec = inspect.getfullargspec(function)
    expressions = [*definition.args.defaults, *(one for one in definition.args.kw_defaults if one is not None)]
    by_name = spec.kwonlydefaults or {}
    values = [*(spec.defaults or ()), *(by_name[one] for one in spec.kwonlyargs if one in by_name)]
    for expression, value in zip(expressions, values):
        for one in ast.walk(expression):
            if not isinstance(one, ast.Name) or hasattr(builtins, one.id):
                continue
            if one is expression:
                around[one.id] = value
            elif one.id in globals_:
                around[one.id] = globals_[one.id]
            else:
                raise EvoError(f"the reference {function.__name__} has a default of {one.id}: name a value of its file")
    return around


def _global_names(code: types.CodeType) -> Set[str]:
    names = {one.argval for one in dis.get_instructions(code) if one.opname in ("LOAD_GLOBAL", "LOAD_NAME")}
    return names.union(*(_global_names(one) for one in code.co_consts if isinstance(one, types.CodeType)))


def _annotated(function: Callable[..., Any], definition: ast.FunctionDef) -> Set[str]:
    """The packages whose types annotate its parameters: they say whose arrays it takes."""
    found: Set[str] = set()
    for argument in [*definition.args.posonlyargs, *definition.args.args, *definition.args.kwonlyargs]:
        for one in ast.walk(argument):
            value = function.__globals__.get(one.id) if isinstance(one, ast.Name) else None
            found.add((value.__name__ if isinstance(value, types.ModuleType) else _module(value)).split(".")[0])
    return found


def _written(value: Any) -> Optional[str]:
    """A plain value, or a container of plain values, as Python reads it again; None for any other."""
    if isinstance(value, float):
        return repr(float(value)) if math.isfinite(value) else f'float("{float(value)}")'
    if type(value) in (bool, int, str, bytes, type(None)):
        return repr(value)
    if type(value) is complex:
        return f"complex({_written(value.real)}, {_written(value.imag)})"
    if type(value) is dict:
        pairs = [(_written(key), _written(one)) for key, one in value.items()]
        return None if any(None in pair for pair in pairs) else "{" + ", ".join(f"{k}: {v}" for k, v in pairs) + "}"
    if type(value) not in (tuple, list):
        return None
    items = [_written(one) for one in value]
    if any(one is None for one in items):
        return None
    text = "".join(f"{one}, " for one in items)
    return f"({text})" if type(value) is tuple else f"[{text}]"


def _module(value: Any) -> str:
    return str(getattr(value, "__module__", None) or "")


def _imported(value: Any, function: Callable[..., Any]) -> bool:
    """Whether an import finds it: it is a named part of a module that is not the function's own file."""
    module = _module(value)
    return module not in ("", "__main__", function.__module__) and getattr(
        sys.modules.get(module), getattr(value, "__name__", ""), None
    ) is value


def _own(function: types.FunctionType) -> bool:
    """Whether its source travels: functions of installed packages are imported."""
    file = inspect.getsourcefile(function) or ""
    return not any(folder in file for folder in ("site-packages", "dist-packages", sysconfig.get_path("stdlib")))
