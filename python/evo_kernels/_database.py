"""A database of runs: elites, candidates, samples and lineage."""

from __future__ import annotations

import json
import os
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Dict, List, Mapping, Optional, Sequence, Union

from ._frames import frame, frame_of_rows
from ._program import DATABASE, DONE, NOTHING_VALID, EvoError, call, document, written

if TYPE_CHECKING:
    from ._load import Kernel

PathLike = Union[str, "os.PathLike[str]"]


class Candidate:
    """One candidate of a database: a genome with its kernel, verdict and latency."""

    def __init__(self, number: int, db: PathLike = DATABASE) -> None:
        self.id = int(number)
        self.db = str(db)

    @cached_property
    def document(self) -> Dict[str, Any]:
        """What `evo show ID --json` prints (docs/json.md)."""
        return document(["show", str(self.id), "--db", self.db])

    @property
    def task(self) -> str:
        return self.document["run"]["task"]

    @property
    def run(self) -> int:
        return self.document["run"]["id"]

    @property
    def options(self) -> Dict[str, Any]:
        """The task's options that it was made for."""
        return self.document["run"]["target"]["options"]

    @property
    def family(self) -> str:
        return self.document["genome"]["family"]

    @property
    def genes(self) -> Dict[str, Any]:
        return self.document["genome"]["genes"]

    @property
    def verdict(self) -> str:
        return self.document["evaluation"]["verdict"]

    @property
    def latency_us(self) -> Optional[float]:
        """Microseconds; the geometric mean over the timed shapes. None unless it is valid."""
        return self.document["evaluation"]["latency_us"]

    @property
    def timing(self) -> Optional[str]:
        """"measured" or "modelled"; None unless it was timed."""
        timings = self.document["evaluation"]["timings"]
        return timings[0]["timing"] if timings else None

    @property
    def relative_l2(self) -> Optional[float]:
        """The worst case's error."""
        return self.document["evaluation"]["relative_l2"]

    @property
    def source(self) -> str:
        """The kernel's source in CUDA C++, that of its first specialisation."""
        programs = self.document["programs"]
        return programs[0]["source"] if programs else ""

    def samples(self) -> Any:
        """A frame of its timed samples: shape, sample, latency_us."""
        rows = [
            {"shape": timing["shape"], "sample": number, "latency_us": sample}
            for timing in self.document["evaluation"]["timings"]
            for number, sample in enumerate(timing["samples_us"])
        ]
        return frame_of_rows(rows, ["shape", "sample", "latency_us"])

    def lineage(self) -> Any:
        """A frame of its ancestors, nearest first; it is itself at distance 0."""
        names = ["distance", "candidate", "op", "parents", "verdict", "latency_us", "genome"]
        return frame_of_rows(document(["lineage", str(self.id), "--db", self.db])["ancestors"], names)

    def export(
        self, path: PathLike, *, format: Optional[str] = None, name: Optional[str] = None
    ) -> Path:
        """Writes the kernel as one .cu file, or with `format` ("torch", "kernelbench", ...) as a folder.

        name: the launcher's or the package's. See docs/export.md.
        """
        return export_candidates([self.id], self.db, path, format=format, name=name)

    def verify(self, device: Optional[str] = None) -> Dict[str, Any]:
        """Compiles, validates and times it again: what `evo verify ID --json` prints."""
        chosen = ["--device", device] if device else []
        return document(["verify", str(self.id), "--db", self.db, *chosen], (DONE, NOTHING_VALID))

    def load(self) -> "Kernel":
        """A callable kernel: see evo_kernels.load."""
        from ._load import load

        return load(self)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Candidate) and (self.id, os.path.abspath(self.db)) == (
            other.id,
            os.path.abspath(other.db),
        )

    def __hash__(self) -> int:
        return hash((self.id, os.path.abspath(self.db)))

    def __repr__(self) -> str:
        genes = " ".join(f"{name}={value}" for name, value in self.genes.items())
        timed = f"{self.latency_us:.4g} us {self.timing}" if self.latency_us is not None else self.verdict
        return f"<candidate {self.id} of {self.task}: {timed}, {self.family}: {genes}>"


def export_candidates(
    numbers: Sequence[int],
    db: str,
    path: PathLike,
    *,
    format: Optional[str] = None,
    name: Optional[str] = None,
) -> Path:
    arguments = ["export", *map(str, numbers), "--db", db, "-o", str(path)]
    if format:
        arguments += ["--format", format]
    if name:
        arguments += ["--name", name]
    call(arguments)
    return Path(path)


def page_data(runs: Sequence[int], db: str) -> Dict[str, Any]:
    """The data of a report's page (docs/json.md)."""
    return json.loads(written(["report", *map(str, runs), "--db", db, "--predict", "0"], "page.json"))


def candidates_frame(data: Mapping[str, Any]) -> Any:
    """One row for each candidate: its place in the search, verdict, latency and error; a column for each gene."""
    columns = data["candidates"]
    count = len(columns["id"])
    runs = [run["id"] for run in data["runs"]]
    named = {
        "candidate": columns["id"],
        "run": [runs[place] for place in columns["run"]],
        "evaluation": columns["evaluation"],
        "seconds": columns["seconds"],
        "verdict": [data["verdicts"][place]["name"] for place in columns["verdict"]],
        "latency_us": columns["latency_us"],
        "relative_l2": columns["relative_l2"],
        "op": [columns["ops"][place] for place in columns["op"]],
        "parent": columns["parent"],
        "family": [data["genomes"][place]["family"] for place in columns["family"]],
    }
    genes: Dict[str, List[Any]] = {}
    nth = [0] * len(data["genomes"])
    for row, place in enumerate(columns["family"]):
        for gene, of in data["genomes"][place]["genes"].items():
            allele = of["alleles"][nth[place]]
            genes.setdefault(gene, [None] * count)[row] = None if allele < 0 else of["values"][allele]
        nth[place] += 1
    reasons = {"reason": [columns["reasons"][place] for place in columns["reason"]]}
    return frame({**named, **{f"gene.{name}" if name in named else name: v for name, v in genes.items()}, **reasons})


class Database:
    """The runs, candidates and elites of one file (docs/store.md). Nothing here writes to it."""

    def __init__(self, path: PathLike = DATABASE) -> None:
        self.path = str(path)
        self.runs()  # A file that is none is named here.

    def runs(self) -> Any:
        """A frame of its runs, newest first."""
        names = ["id", "task", "objective", "status", "evaluated", "valid", "best_us", "strategy", "seed", "started_at"]
        return frame_of_rows(document(["runs", "--db", self.path])["runs"], names)

    def elites(self, task: Optional[str] = None) -> Any:
        """A frame of the best kernels: at most three for each task, device and objective."""
        names = ["rank", "candidate", "task", "device", "objective", "latency_us", "timing", "relative_l2",
                 "registers", "provisional", "family", "genes"]
        rows = [
            {**one, "device": one["device"]["name"], "family": one["genome"]["family"], "genes": one["genome"]["genes"]}
            for one in self._elites(task)
        ]
        return frame_of_rows(rows, names)

    def best(self, task: Optional[str] = None) -> Candidate:
        """The best elite of a task, or of the newest run's. Raises EvoError where there is none."""
        elites = [one for one in self._elites(task) if one["rank"] == 1]
        if not elites:
            raise EvoError(f"{self.path} has no elite" + (f" of task {task}" if task else ""), NOTHING_VALID)
        newest = max(elites, key=lambda one: one["run"])
        return Candidate(newest["candidate"], self.path)

    def candidate(self, number: int) -> Candidate:
        return Candidate(number, self.path)

    def candidates(self, *runs: int) -> Any:
        """A frame of all candidates of these runs, or of the newest. Runs of one frame compete with each other."""
        return candidates_frame(page_data(runs, self.path))

    def samples(self, candidate: int) -> Any:
        return self.candidate(candidate).samples()

    def lineage(self, candidate: int) -> Any:
        return self.candidate(candidate).lineage()

    def _elites(self, task: Optional[str]) -> List[Dict[str, Any]]:
        all_of_them = document(["elites", "--db", self.path])["elites"]
        return [one for one in all_of_them if task is None or one["task"] == task]

    def __repr__(self) -> str:
        return f"<database {self.path}>"


def open(path: PathLike = DATABASE) -> Database:  # noqa: A001
    """Opens a database of runs. Raises EvoError where the file is none."""
    return Database(path)
