"""Searches: the program's own process, a progress bar over its lines, and its result."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Mapping, Optional, Sequence, Union

from ._database import Candidate, PathLike, candidates_frame, page_data
from ._program import (
    DATABASE,
    DONE,
    INTERRUPTED,
    NOTHING_VALID,
    EvoError,
    Shape,
    environment,
    error_of,
    option_arguments,
    program,
    shape_texts,
    value_text,
)
from ._report import Page, report

if TYPE_CHECKING:
    from ._load import Kernel

_EVALUATED = re.compile(r"(\d+)(?:/(\d+))? evaluated, (.*?)(  \(new best\))?$")
#: What the program says before a search that its reader wants to see.
_TOLD = ("run ", "warning: ", "watch it: ", "limits: ", "elites stay provisional")


class Result:
    """What a search found. `interrupted`: it was stopped early; resume() goes on with it."""

    def __init__(self, document: Mapping[str, Any], db: PathLike) -> None:
        #: What `evo run --json` printed (docs/json.md).
        self.document = dict(document)
        self.db = str(db)

    @property
    def run(self) -> int:
        """Its number in the database."""
        return self.document["run"]["id"]

    @property
    def task(self) -> str:
        return self.document["run"]["task"]

    @property
    def interrupted(self) -> bool:
        return self.document["interrupted"]

    @property
    def evaluated(self) -> int:
        return self.document["run"]["evaluated"]

    @property
    def best(self) -> Candidate:
        """Its fastest valid candidate. Raises EvoError where there is none."""
        best = self.document["best"]
        if best is None:
            reasons = [one["reason"] for one in self.document["rejections"]]
            why = f"; the first was rejected for: {reasons[0]}" if reasons else ""
            raise EvoError(f"run {self.run} found no valid kernel of {self.task}{why}", NOTHING_VALID)
        return Candidate(best["candidate"], self.db)

    @property
    def elites(self) -> List[Candidate]:
        """The best kernels of its task, device and objective, of earlier runs too; at most three."""
        return [Candidate(one["candidate"], self.db) for one in self.document["elites"]]

    def table(self) -> Any:
        """A frame of its candidates: verdict, latency, error, genes."""
        return candidates_frame(page_data([self.run], self.db))

    def plot(self) -> Any:
        """The best latency so far over evaluations, as axes of matplotlib."""
        try:
            from matplotlib import pyplot
        except ImportError:
            raise EvoError("plot() needs matplotlib: install it, or look at report()", 3) from None
        data = page_data([self.run], self.db)
        columns = data["candidates"]
        valid = [(at, us) for at, us in zip(columns["evaluation"], columns["latency_us"]) if us is not None]
        axes = pyplot.figure().add_subplot()
        axes.plot([at for at, _ in valid], [us for _, us in valid], ".", label="valid candidates")
        best = data["by_evaluations"]
        so_far = [(at, us) for at, us in zip(best["at"], best["runs"][0]) if us is not None]
        axes.step([at for at, _ in so_far], [us for _, us in so_far], where="post", label="best so far")
        axes.set(xlabel="evaluations", ylabel=f"latency, us ({data['timing']})", title=self.task, yscale="log")
        axes.legend()
        return axes

    def export(self, path: PathLike, *, format: Optional[str] = None, name: Optional[str] = None) -> Path:
        """Writes the best kernel as one .cu file, or with `format` ("torch", ...) as a folder (docs/export.md)."""
        return self.best.export(path, format=format, name=name)

    def load(self) -> "Kernel":
        """The best kernel as a callable: see evo_kernels.load."""
        return self.best.load()

    def report(self) -> Page:
        """The run's page, which a notebook shows."""
        return report(self)

    def resume(self, *, time: Optional[str] = None, evals: Optional[int] = None, progress: bool = True,
               **more: Any) -> "Result":  # fmt: skip
        """Goes on with the same search, up to new limits: `evals` counts those that it has."""
        return resume(self, time=time, evals=evals, progress=progress, **more)

    def __repr__(self) -> str:
        state = "interrupted" if self.interrupted else self.document["run"]["status"]
        found = repr(self.best) if self.document["best"] is not None else "nothing valid"
        return f"<run {self.run}, {state}, {self.evaluated} evaluated: {found}>"


def run(
    task: str,
    *,
    shapes: Union[None, Shape, Sequence[Shape]] = None,
    options: Optional[Mapping[str, Any]] = None,
    objective: Optional[str] = None,
    device: str = "auto",
    time: Optional[str] = None,
    evals: Optional[int] = None,
    seed: Optional[int] = None,
    db: PathLike = DATABASE,
    templates: Optional[PathLike] = None,
    progress: bool = True,
    **more: Any,
) -> Result:
    """Searches for the fastest correct kernel of a task.

    shapes: what is timed: "mission", (1, 8, 512, 64), {"B": 1, ...}, or a list of them. options: of the task,
    {"mask": "causal"}. device: "auto", "cuda:0", "vgpu:h200" (no GPU: modelled). time: "90s", "10m". more: any other
    option of `evo run`, with _ for -: strategy="random", seed_from="other.db", until="20us".

    Ctrl-C, or a notebook's stop button, ends the search early: the result has what was found and resume() goes on.
    Raises EvoError for wrong usage and for what this machine lacks.
    """
    arguments = ["run", "--task", task, *problem_arguments(shapes, options, objective, device)]
    if templates is not None:
        arguments += ["--templates", str(templates)]
    return search([*arguments, *option_arguments({"time": time, "evals": evals, "seed": seed, **more})], db, progress)


def resume(
    run: Union[int, Result],
    *,
    time: Optional[str] = None,
    evals: Optional[int] = None,
    db: Optional[PathLike] = None,
    progress: bool = True,
    **more: Any,
) -> Result:
    """Goes on with a run of a database, with its settings and new limits. `evals` counts those that it has."""
    number = run.run if isinstance(run, Result) else run
    file = db if db is not None else run.db if isinstance(run, Result) else DATABASE
    limits = option_arguments({"time": time, "evals": evals, **more})
    return search(["run", "--resume", str(number), *limits], file, progress)


def problem_arguments(
    shapes: Union[None, Shape, Sequence[Shape]],
    options: Optional[Mapping[str, Any]],
    objective: Optional[str],
    device: str,
) -> List[str]:
    arguments = ["--device", device]
    for shape in shape_texts(shapes):
        arguments += ["--shapes", shape]
    for name, value in (options or {}).items():
        arguments += ["--option", f"{name}={value_text(value)}"]
    return arguments + (["--objective", objective] if objective else [])


def search(arguments: Sequence[str], db: PathLike, progress: bool) -> Result:
    """Runs a searching command of the program to its end, or until it is interrupted."""
    command = [str(program()), *arguments, "--db", str(db), "--json", "--progress" if progress else "--quiet"]
    with tempfile.TemporaryFile("w+", encoding="utf-8") as printed:
        # Of its own group: an interrupt comes from here alone, once, however many processes a terminal tells.
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=printed,
            stderr=subprocess.PIPE,
            text=True,
            env=environment(),
            start_new_session=True,
        )
        said = _followed(process, _Progress() if progress else None)
        printed.seek(0)
        text = printed.read()
    if process.returncode not in (DONE, NOTHING_VALID, INTERRUPTED) or not text.strip():
        raise error_of(said, process.returncode)
    return Result(json.loads(text), db)


def _followed(process: "subprocess.Popen[str]", shown: Optional["_Progress"]) -> str:
    """What the process says until it ends. The first interrupt asks it to end, the second ends it."""
    said: List[str] = []
    interrupts = 0
    assert process.stderr is not None
    try:
        while True:
            try:
                for line in process.stderr:
                    said.append(line)
                    if shown is not None:
                        shown.take(line.rstrip("\n"))
                process.wait()
                return "".join(said)
            except KeyboardInterrupt:
                interrupts += 1
                process.send_signal(signal.SIGINT)
                if interrupts > 1:
                    raise
    finally:
        if process.poll() is None:
            process.terminate()
            process.wait()
        process.stderr.close()
        if shown is not None:
            shown.close()


class _Progress:
    """The program's lines of progress as a bar of tqdm where it is installed, else as a line that is written over."""

    def __init__(self) -> None:
        self._bar: Any = None
        self._open = False
        try:
            from tqdm.auto import tqdm

            self._tqdm: Optional[Callable[..., Any]] = tqdm
        except ImportError:
            self._tqdm = None

    def take(self, line: str) -> None:
        step = _EVALUATED.match(line)
        if step is None:
            if line.startswith(_TOLD):
                self._tell(line)
            return
        done, total, rest = int(step[1]), int(step[2]) if step[2] else None, step[3]
        if self._tqdm is None:
            self._write(line)
            return
        if self._bar is None:
            self._bar = self._tqdm(total=total, unit="kernel")
        self._bar.n = done
        self._bar.set_postfix_str(rest)

    def _tell(self, line: str) -> None:
        if self._bar is not None:
            self._bar.write(line, file=sys.stderr)
            return
        self.close()
        print(line, file=sys.stderr)

    def _write(self, line: str) -> None:
        if sys.stderr.isatty() or "ipykernel" in sys.modules:
            columns = 100 if not sys.stderr.isatty() else os.get_terminal_size(sys.stderr.fileno()).columns - 1
            sys.stderr.write("\r" + line[:columns].ljust(columns))
            self._open = True
        else:
            sys.stderr.write(line + "\n")
        sys.stderr.flush()

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()
            self._bar = None
        if self._open:
            sys.stderr.write("\n")
            self._open = False
