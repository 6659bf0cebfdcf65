"""Tuning of one's own kernel: the ten lines of `evo tune`, and a Python function as the reference."""

from __future__ import annotations

import json
import re
import tempfile
from pathlib import Path
from typing import Any, Callable, Dict, Mapping, Optional, Sequence, Union

from ._database import PathLike
from ._program import DATABASE, EvoError, Shape, call, option_arguments
from ._reference import reference_source
from ._search import Result, search

#: Keys of the ten lines beside those that are arguments below (docs/templates.md).
_FORM = {
    "summary", "specialised", "constants", "problem_size", "grid_div_x", "grid_div_y", "grid_div_z", "cluster",
    "shared", "max_registers", "reference_grid", "reference_block", "reference_shared", "reference_arguments",
    "reference_constants", "limits", "deterministic", "requires", "seeds", "regimes", "sets", "objectives", "floor",
    "launches", "compiler_options",
}  # fmt: skip


def tune(
    kernel: str,
    genes: Mapping[str, Sequence[Any]],
    arguments: Sequence[str],
    *,
    shapes: Union[Sequence[Mapping[str, int]], Mapping[str, Mapping[str, int]]],
    grid: Optional[Sequence[Any]] = None,
    block: Optional[Sequence[Any]] = None,
    reference: Union[None, str, Callable[..., Any]] = None,
    restrict: Sequence[str] = (),
    source: Optional[str] = None,
    name: Optional[str] = None,
    options: Optional[Mapping[str, Sequence[Any]]] = None,
    device: str = "auto",
    time: Optional[str] = None,
    evals: Optional[int] = None,
    seed: Optional[int] = None,
    db: PathLike = DATABASE,
    progress: bool = True,
    **more: Any,
) -> Result:
    """Tunes a kernel of yours, unchanged: its choices are macros, the genes name their values.

    kernel: "saxpy.cu:saxpy", a file and a function; the function alone if `source` is the text of the file.
    genes: {"threads": [64, 128]}. restrict: what must hold among them, "threads * per_thread <= 1024".
    arguments: the kernel's, in order: "y=inout float[N]", "x=float[N]", "float:0.5", "N".
    shapes: [{"N": 4096}, {"N": 1001}]; the first is timed. grid, block: expressions of genes and sizes.
    reference: what is right: "saxpy.cu:saxpy_plain" (with reference_grid, reference_block), or a Python function that
        takes the kernel's inputs by name and returns its outputs in order. It gets tensors of torch, or arrays of
        numpy if it uses numpy or torch is missing. Without one, results are self-consistent only.
    name: of the task; else the kernel's. more: any other key of the ten lines (docs/templates.md), or option of
        `evo tune`, with _ for -: limits={"relative_l2": 1e-5}, strategy="random".

    Raises EvoError for a form that is wrong, in the program's words.
    """
    form: Dict[str, Any] = {
        "genes": {gene: list(values) for gene, values in genes.items()},
        "restrict": list(restrict),
        "shapes": shapes if isinstance(shapes, Mapping) else list(shapes),
        "arguments": list(arguments),
    }
    form.update({key: value for key, value in (("grid", grid), ("block", block), ("options", options)) if value})
    form.update({key: more.pop(key) for key in sorted(_FORM & set(more))})
    task = name or _function_of(kernel)
    with tempfile.TemporaryDirectory(prefix="evo-") as folder:
        form["kernel"] = placed(kernel, source, Path(folder))
        if isinstance(reference, str):
            form["reference"] = placed(reference, None, Path(folder)) if ".cu" in reference else reference
        file = Path(folder) / f"{task}.json"
        file.write_text(json.dumps(form), encoding="utf-8")
        try:
            return _searched(file, reference, device, {"time": time, "evals": evals, "seed": seed, **more}, db, progress)
        except EvoError as error:
            raise EvoError(str(error).replace(f"{folder}/", ""), error.exit_code) from None


def _searched(
    file: Path,
    reference: Union[None, str, Callable[..., Any]],
    device: str,
    wanted: Mapping[str, Any],
    db: PathLike,
    progress: bool,
) -> Result:
    """Tunes the form of a file; a function becomes the reference of the folder that the form stands for."""
    command = ["tune", str(file)]
    if callable(reference):
        templates = file.parent / "templates"
        call(["tune", str(file), "--expand", str(templates)])
        _put_reference(templates / file.stem, reference)
        command = ["run", "--task", file.stem, "--templates", str(templates)]
    return search([*command, "--device", device, *option_arguments(wanted)], db, progress)


def _function_of(kernel: str) -> str:
    """A task's name from "dir/saxpy.cu:ns::saxpy<float>"."""
    text = kernel.rsplit("/", 1)[-1]
    text = text.split(".cu:", 1)[-1] if ".cu:" in text else text.replace(".cu", "")
    text = text.split("<")[0].split("::")[-1]
    return "".join(one if one.isalnum() else "_" for one in text) or "kernel"


def placed(kernel: str, source: Optional[str], folder: Path) -> str:
    """A kernel's place in the form's folder, where a copy of its file is put, with what it includes by quotes."""
    if source is not None:
        (folder / "kernel.cu").write_text(source, encoding="utf-8")
        return "kernel.cu:" + kernel.split(".cu:", 1)[-1]
    path, dot, function = kernel.partition(".cu")
    if not dot:
        raise EvoError(f'kernel {kernel!r}: say "FILE.cu:FUNCTION", or give the file\'s text as source=')
    file = Path(path + dot)
    if not file.is_file():
        raise EvoError(f"there is no file {file}")
    _copy(file.name, file.parent, folder)
    return file.name + function


def _copy(name: str, origin: Path, folder: Path) -> None:
    copy = folder / name
    if copy.exists() or not (origin / name).is_file() or folder.resolve() not in copy.resolve().parents:
        return
    text = (origin / name).read_text(encoding="utf-8")
    copy.parent.mkdir(parents=True, exist_ok=True)
    copy.write_text(text, encoding="utf-8")
    for included in re.findall(r'^\s*#\s*include\s*"([^"]+)"', text, re.MULTILINE):
        _copy(str(Path(name).parent / included), origin, folder)


def _put_reference(task: Path, function: Callable[..., Any]) -> None:
    """Makes a Python function the reference of an expanded task."""
    file = task / "task.json"
    json_ = json.loads(file.read_text(encoding="utf-8"))
    tensors = [one["name"] for one in json_["inputs"]]
    tensors += [one["name"] for one in json_["outputs"] if one.get("inout")]
    text = reference_source(function, [*tensors, *json_.get("options", {})])
    (task / "reference.py").write_text(text, encoding="utf-8")
    json_["reference"] = {"torch": True}
    json_.pop("self_consistent", None)
    file.write_text(json.dumps(json_, indent=2), encoding="utf-8")
    for unused in ("reference.cu", "limits.json"):
        (task / unused).unlink(missing_ok=True)
