"""The page of a report (docs/report.md), for a browser and for a notebook."""

from __future__ import annotations

import html
import os
from pathlib import Path
from typing import Any, Optional, Union

from ._database import Database, PathLike
from ._program import DATABASE, EvoError, written


class Page:
    """A page as one file of HTML. A notebook shows it; save() writes it."""

    def __init__(self, text: str) -> None:
        self.text = text

    def save(self, path: PathLike) -> Path:
        file = Path(path)
        file.write_text(self.text, encoding="utf-8")
        return file

    def _repr_html_(self) -> str:
        # A frame of its own: neither its styles nor its scripts reach the notebook.
        return (
            f'<iframe srcdoc="{html.escape(self.text)}" sandbox="allow-scripts" '
            'style="width:100%;height:900px;border:0"></iframe>'
        )

    def __repr__(self) -> str:
        return f"<page of {len(self.text)} characters: save() writes it>"


def report(
    *of: Union[Any, int, Database], task: Optional[str] = None, db: Optional[PathLike] = None
) -> Page:
    """The page of results, of runs by number, or of a database: its newest run, or all that compete for `task`."""
    numbers = [str(one if isinstance(one, int) else one.run) for one in of if not isinstance(one, Database)]
    named = [one.path if isinstance(one, Database) else one.db for one in of if not isinstance(one, int)]
    files = {os.path.realpath(file): str(file) for file in ([db] if db is not None else []) + named}
    if len(files) > 1:
        raise EvoError(f"a page is of one database, not of {' and '.join(sorted(files))}")
    arguments = ["report", *numbers, "--db", next(iter(files.values()), DATABASE)]
    if task:
        arguments += ["--task", task]
    return Page(written(arguments, "report.html"))
