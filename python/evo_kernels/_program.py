"""The program evo: where it is, how it is called, and what becomes of its errors."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple, Union

#: A size of a task: a name ("mission"), all sizes in order (1, 8, 512, 64), or by name {"B": 1, "H": 8}.
Shape = Union[str, Sequence[int], Mapping[str, int]]

#: Where runs and elites are kept unless `db=` says otherwise: below the working directory, as for the program.
DATABASE = "runs/evo.db"

DONE, NOTHING_VALID, USAGE, MISSING, INTERRUPTED = 0, 1, 2, 3, 130


class EvoError(RuntimeError):
    """What the program said on its last line of errors, and the exit code that it ended with.

    exit_code: 1: a check failed or nothing valid was found; 2: wrong usage; 3: something is missing on this machine.
    """

    def __init__(self, message: str, exit_code: int = USAGE) -> None:
        super().__init__(message)
        self.exit_code = exit_code


def program() -> Path:
    """The program: $EVO_PROGRAM, else the wheel's own, else that of the checkout which this package lies in.

    Raises EvoError where there is none.
    """
    named = os.environ.get("EVO_PROGRAM")
    here = Path(__file__).resolve().parent
    builds = here.parent.parent / "build"
    places = [Path(named)] if named else [here / "program" / "evo"] + [
        builds / preset / "cli" / "evo" for preset in ("release", "portable")
    ]
    for place in places:
        if place.is_file() and os.access(place, os.X_OK):
            return place
    raise EvoError("the program evo is missing: looked for " + ", ".join(map(str, places)), MISSING)


def environment() -> Dict[str, str]:
    """That of the program: this Python runs references, and its packages may hold NVRTC."""
    variables = dict(os.environ)
    variables.setdefault("EVO_PYTHON", sys.executable)
    if sys.prefix != sys.base_prefix:
        variables.setdefault("VIRTUAL_ENV", sys.prefix)
    return variables


def error_of(said: str, exit_code: int) -> EvoError:
    """The last line of errors without the program's name."""
    lines = [line for line in said.splitlines() if line.strip()]
    own = [line for line in lines if line.startswith("evo: ")]
    message = (own or lines or [f"evo ended with code {exit_code} and said nothing"])[-1]
    return EvoError(message[len("evo: ") :] if message.startswith("evo: ") else message, exit_code)


def call(arguments: Sequence[str], accepted: Tuple[int, ...] = (DONE,), folder: Optional[Path] = None) -> str:
    """The program's standard output. Raises EvoError for exit codes that are not `accepted`."""
    done = subprocess.run(
        [str(program()), *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
        cwd=folder,
    )
    if done.returncode not in accepted:
        raise error_of(done.stderr, done.returncode)
    for line in done.stderr.splitlines():
        warnings.warn(line, stacklevel=2)
    return done.stdout


def document(arguments: Sequence[str], accepted: Tuple[int, ...] = (DONE,)) -> Dict[str, Any]:
    """What the program prints with --json."""
    return json.loads(call([*arguments, "--json"], accepted))


def written(arguments: Sequence[str], name: str) -> str:
    """What a command writes to a file of this name."""
    with tempfile.TemporaryDirectory(prefix="evo-") as folder:
        file = Path(folder) / name
        call([*arguments, "-o", str(file)])
        return file.read_text(encoding="utf-8")


def one_shape(shape: Shape) -> str:
    """As --shapes takes it."""
    if isinstance(shape, str):
        return shape
    if isinstance(shape, Mapping):
        return ",".join(f"{name}={int(size)}" for name, size in shape.items())
    return ",".join(str(int(size)) for size in shape)


def shape_texts(shapes: Union[None, Shape, Sequence[Shape]]) -> List[str]:
    """One shape, or a list of them."""
    if shapes is None:
        return []
    if isinstance(shapes, (str, Mapping)) or all(not isinstance(one, (str, Mapping, Sequence)) for one in shapes):
        return [one_shape(shapes)]  # type: ignore[arg-type]
    return [one_shape(one) for one in shapes]  # type: ignore[arg-type]


def value_text(value: Any) -> str:
    """An option's value, as the command line has it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def option_arguments(options: Mapping[str, Any]) -> List[str]:
    """Keywords as options of the program: seed_from="a.db" is --seed-from a.db; True is the option alone."""
    arguments: List[str] = []
    for name, value in options.items():
        option = "--" + name.replace("_", "-")
        if value is None or value is False:
            continue
        if value is True:
            arguments.append(option)
            continue
        for one in value if isinstance(value, (list, tuple)) else [value]:
            arguments += [option, str(one)]
    return arguments
