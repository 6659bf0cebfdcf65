"""Columns of results as a frame: of pandas where it is installed, else a table that shows itself."""

from __future__ import annotations

import html
from typing import Any, Dict, Iterator, List, Mapping, Sequence

_SHOWN = 60


class Table:
    """Named columns of equal length, for where there is no pandas."""

    def __init__(self, columns: Mapping[str, Sequence[Any]]) -> None:
        self._columns = {name: list(values) for name, values in columns.items()}

    @property
    def columns(self) -> List[str]:
        return list(self._columns)

    def __len__(self) -> int:
        return len(next(iter(self._columns.values()), []))

    def __getitem__(self, name: str) -> List[Any]:
        return self._columns[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def rows(self) -> Iterator[Dict[str, Any]]:
        for values in zip(*self._columns.values()):
            yield dict(zip(self._columns, values))

    def to_dict(self) -> Dict[str, List[Any]]:
        return dict(self._columns)

    def __repr__(self) -> str:
        texts = [self.columns] + [[_text(value) for value in row.values()] for row in self.rows()][:_SHOWN]
        widths = [max(len(text) for text in column) for column in zip(*texts)]
        lines = ["  ".join(text.ljust(width) for text, width in zip(row, widths)).rstrip() for row in texts]
        return "\n".join(lines + ([f"... {len(self)} rows"] if len(self) > _SHOWN else []))

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{html.escape(name)}</th>" for name in self.columns)
        body = "".join(
            "<tr>" + "".join(f"<td>{html.escape(_text(value))}</td>" for value in row.values()) + "</tr>"
            for row in list(self.rows())[:_SHOWN]
        )
        more = f"<p>{len(self)} rows</p>" if len(self) > _SHOWN else ""
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


def _text(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def frame(columns: Mapping[str, Sequence[Any]]) -> Any:
    """A pandas.DataFrame, or a Table where there is no pandas."""
    try:
        import pandas
    except ImportError:
        return Table(columns)
    return pandas.DataFrame(dict(columns))


def frame_of_rows(rows: Sequence[Mapping[str, Any]], names: Sequence[str]) -> Any:
    """A frame with these columns, in this order. What a row lacks is None."""
    return frame({name: [row.get(name) for row in rows] for name in names})
