"""A table as a value: columns, rows of typed entries, and notes, independent of the output format.

An entry keeps its number, so that a page can sort by it and a CSV loses no digits; the text is for display.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from slova_bench.tables import writing

__all__ = ["BEST", "NOTHING", "TIED", "Column", "Entry", "Table", "number", "text"]

BEST, TIED = "best", "tied"
NOTHING = "–"


@dataclass(frozen=True)
class Column:
    """A column head: its name, its group, and whether the values are those of the paper."""

    name: str
    group: str = ""
    paper: bool = False

    @property
    def title(self) -> str:
        return ", ".join(part for part in (self.group, self.name) if part)


@dataclass(frozen=True)
class Entry:
    """One entry of a table: text and, for a number, its value, its standard error over seeds and a mark."""

    text: str
    value: float | None = None
    error: float | None = None
    mark: str = ""


@dataclass(frozen=True)
class Table:
    """A table. `name` is its file name; tables with `aside` are collapsed on a page."""

    name: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Entry, ...], ...]
    notes: tuple[str, ...] = ()
    aside: bool = False

    def __post_init__(self) -> None:
        if odd := [row for row in self.rows if len(row) != len(self.columns)]:
            raise ValueError(f"{self.name} has {len(self.columns)} columns, but a row of {len(odd[0])} entries")

    def markdown(self) -> str:
        return writing.markdown(self)

    def csv(self) -> str:
        return writing.csv_text(self)


def text(words: object) -> Entry:
    """An entry of text or of a count."""
    return Entry(str(words), float(words) if isinstance(words, int) else None)


def number(
    value: float, *, error: float | None = None, mark: str = "", digits: int = 3, percent: bool = False
) -> Entry:
    """An entry of a metric. With `percent` a share is displayed in percent; its value stays a share."""
    shown = _shown(value, digits, percent)
    spread = "" if error is None else f" ± {_small(error, digits, percent)}"
    return Entry(shown + spread + (" %" if percent else ""), value, error, mark)


def _shown(value: float, digits: int, percent: bool) -> str:
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    return f"{100 * value:.{max(0, digits - 1)}f}" if percent else f"{value:.{digits}f}"


def _small(value: float, digits: int, percent: bool) -> str:
    """As many digits as the value, and more where all would be zeros."""
    found = (_shown(value, more, percent) for more in range(digits, digits + 5))
    return next((words for words in found if float(words)), _shown(value, digits, percent))
