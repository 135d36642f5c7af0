"""A table as a value: columns, rows of typed entries, and notes; written as markdown and as CSV.

An entry keeps its number, so that a page can sort by it and a CSV loses no digits; the text is for display. Names may
come from files and plug-ins, so special characters are escaped.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

__all__ = ["BEST", "NOTHING", "TIED", "Column", "Entry", "Table", "number", "plain", "table", "text"]

BEST, TIED = "best", "tied"
MARKS = {BEST: "**{}**", TIED: "*{}*"}  # in markdown
NOTHING = "–"


@dataclass(frozen=True)
class Entry:
    """One entry of a table: text and, for a number, its value, its standard error over seeds and a mark."""

    text: str
    value: float | None = None
    error: float | None = None
    mark: str = ""


@dataclass(frozen=True)
class Column:
    """A column: its name, its group, and an entry for each key of a row; rows without one show `missing`."""

    name: str
    group: str = ""
    entries: Mapping[Any, Entry] = field(default_factory=dict, compare=False)
    missing: str = field(default=NOTHING, compare=False)

    @property
    def title(self) -> str:
        return ", ".join(part for part in (self.group, self.name) if part)


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
        """A GitHub table; best entries are bold, those tied with them italic."""
        heads = [plain(column.title) for column in self.columns]
        places = range(len(heads))
        sides = ["---" if all(row[place].value is None for row in self.rows) else "---:" for place in places]
        rows = [[MARKS.get(entry.mark, "{}").format(plain(entry.text)) for entry in row] for row in self.rows]
        return "".join(f"| {' | '.join(cells)} |\n" for cells in (heads, sides, *rows))

    def csv(self) -> str:
        """Numbers with all digits; standard errors and marks have columns of their own."""
        columns = list[list[str]]()
        for place, column in enumerate(self.columns):
            head, entries = column.title, [row[place] for row in self.rows]
            columns.append([head, *(one.text if one.value is None else f"{one.value:.8g}" for one in entries)])
            if any(one.error is not None for one in entries):
                errors = ("" if one.error is None else f"{one.error:.8g}" for one in entries)
                columns.append([f"{head}, standard error", *errors])
            if any(one.mark for one in entries):
                columns.append([f"{head}, mark", *(one.mark for one in entries)])
        out = io.StringIO()
        csv.writer(out, lineterminator="\n").writerows(zip(*columns, strict=True))
        return out.getvalue()


def table(
    name: str,
    title: str,
    columns: Sequence[Column],
    keys: Iterable[Any],
    *,
    notes: Iterable[str] = (),
    aside: bool = False,
) -> Table:
    """A table with a row for each key, made of the entries of the columns. Empty notes are left out."""
    rows = tuple(tuple(one.entries.get(key, Entry(one.missing)) for one in columns) for key in keys)
    return Table(name, title, tuple(columns), rows, tuple(note for note in notes if note), aside)


def text(words: object) -> Entry:
    """An entry of text or of a count."""
    return Entry(str(words), float(words) if isinstance(words, int) else None)


def number(
    value: float, *, error: float | None = None, mark: str = "", digits: int = 3, percent: bool = False
) -> Entry:
    """An entry of a metric. With `percent` a share is displayed in percent; its value stays a share. An error has as
    many digits as the value, and more where all would be zeros."""

    def shown(part: float, more: int = 0) -> str:
        if math.isinf(part):
            return "∞" if part > 0 else "−∞"
        return f"{100 * part:.{max(0, digits + more - 1)}f}" if percent else f"{part:.{digits + more}f}"

    small = "" if error is None else next((w for m in range(5) if float(w := shown(error, m))), shown(error))
    return Entry(shown(value) + (f" ± {small}" if small else "") + (" %" if percent else ""), value, error, mark)


def plain(words: str) -> str:
    """Text with the special characters of markdown escaped."""
    escaped = re.sub(r"([\\`*\[\]|~]|\b_|_\b)", r"\\\1", " ".join(words.split()))
    return re.sub(r"<(?=[\w/!?])", "&lt;", re.sub(r"&(?=#?\w+;)", "&amp;", escaped))
