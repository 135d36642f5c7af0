"""Rows on disk: one tidy CSV an experiment, one number a row. While it runs, rows are appended to a journal beside it.

Kill it at any point and run it again: a row that is there is not computed again, and a line that was cut off is
dropped.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from slova.artifact import atomic_path

__all__ = ["Cell", "Results", "ResultsError", "Row"]


class ResultsError(ValueError):
    """A file of results cannot be read; the message has line and column."""


class Cell(NamedTuple):
    """What was measured: everything of a row but the metric and its value."""

    experiment: str
    method: str
    variant: str
    train: str
    test: str
    shift: str
    level: float
    seed: int
    n: int


class Row(NamedTuple):
    """One number."""

    experiment: str
    method: str
    variant: str
    train: str
    test: str
    shift: str
    level: float
    seed: int
    n: int
    metric: str
    value: float

    @classmethod
    def of(cls, cell: Cell, metric: str, value: float) -> Row:
        return cls(*cell, metric, float(value))

    @property
    def key(self) -> tuple[object, ...]:
        """What makes two rows the same measurement; the number of images does not."""
        return (*self[:8], self.metric)


class Results:
    """The rows of one experiment in a folder."""

    def __init__(self, folder: str | Path, experiment: str) -> None:
        self.path = Path(folder) / f"{experiment}.csv"
        self.journal = Path(folder) / f".{experiment}.journal.csv"

    def read(self) -> list[Row]:
        """Every row there is, those of an interrupted run included."""
        rows = list(_read(self.path)) if self.path.exists() else []
        if self.journal.exists():
            rows += _read(self.journal, header=False, torn=True)
        return list({row.key: row for row in rows}.values())

    def append(self, rows: Iterable[Row]) -> None:
        """Add rows to the journal, whole and at once."""
        text = "".join(_line(row) for row in rows)
        self.journal.parent.mkdir(parents=True, exist_ok=True)
        torn = self.journal.exists() and not self.journal.read_bytes().endswith(b"\n") and self.journal.stat().st_size
        with open(self.journal, "a", newline="") as file:
            file.write(("\n" if torn else "") + text)
            file.flush()
            os.fsync(file.fileno())

    def close(self) -> list[Row]:
        """Everything in order in the CSV, and no journal."""
        rows = sorted(
            self.read(), key=lambda row: tuple(str(part) if isinstance(part, str) else part for part in row[:10])
        )
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_path(self.path) as temporary, open(temporary, "w", newline="") as file:
            file.write(",".join(Row._fields) + "\n")
            file.writelines(_line(row) for row in rows)
        self.journal.unlink(missing_ok=True)
        return rows


def _line(row: Row) -> str:
    return (
        ",".join([*map(str, row[:6]), f"{row.level:g}", str(row.seed), str(row.n), row.metric, f"{row.value:.8g}"])
        + "\n"
    )


def _read(path: Path, *, header: bool = True, torn: bool = False) -> Iterator[Row]:
    with open(path, newline="") as file:
        for number, parts in enumerate(csv.reader(file), start=1):
            if header and number == 1:
                if tuple(parts) != Row._fields:
                    raise ResultsError(
                        f"{path}, line 1: wanted the columns {', '.join(Row._fields)}, got {', '.join(parts)}"
                    )
                continue
            try:
                yield _parsed(parts, path, number)
            except ResultsError:
                if not torn:
                    raise


def _parsed(parts: list[str], path: Path, number: int) -> Row:
    if len(parts) != len(Row._fields):
        raise ResultsError(f"{path}, line {number}: wanted {len(Row._fields)} columns, got {len(parts)}")
    values: dict[str, object] = dict(zip(Row._fields, parts, strict=True))
    for name, kind in (("level", float), ("seed", int), ("n", int), ("value", float)):
        try:
            values[name] = kind(str(values[name]))
        except ValueError:
            raise ResultsError(f"{path}, line {number}, column {name}: {values[name]!r} is not a number") from None
    return Row(**values)  # type: ignore[arg-type]
