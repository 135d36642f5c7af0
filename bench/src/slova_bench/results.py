"""Rows on disk: one tidy CSV an experiment, one number a row. While it runs, rows are appended to a journal beside it.

Kill it at any point and run it again: a row that is there is not computed again, and a line that was cut off is
dropped.
"""

from __future__ import annotations

import contextlib
import csv
import io
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

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
        return (*self[:6], float(_number(self.level)), self.seed, self.metric)


class Results:
    """The rows of one experiment in a folder."""

    def __init__(self, folder: str | Path, experiment: str) -> None:
        self.path = Path(folder) / f"{experiment}.csv"
        self.journal = Path(folder) / f".{experiment}.journal.csv"

    def read(self) -> list[Row]:
        """Every row there is, those of an interrupted run included; of two for the same measurement, the later."""
        rows = [*_closed(self.path), *_journalled(self.journal)]
        return list({row.key: row for row in rows}.values())

    def append(self, rows: Iterable[Row]) -> None:
        """Add rows to the journal; they are on the disk when this returns. A line that was cut off before is dropped,
        lest it be taken for a whole one."""
        content = _text(rows).encode()
        self.journal.parent.mkdir(parents=True, exist_ok=True)
        with open(self.journal, "a+b") as file:
            _drop_what_was_cut_off(file)
            file.write(content)
            _flush(file)

    def close(self) -> list[Row]:
        """Everything in order in the CSV, and no journal."""
        rows = sorted(self.read(), key=lambda row: row[:10])
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_path(self.path) as temporary, open(temporary, "wb") as file:
            file.write(_text([Row._fields, *rows]).encode())
            _flush(file)
        self.journal.unlink(missing_ok=True)
        return rows


def _drop_what_was_cut_off(file: BinaryIO) -> None:
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - 1))
    if file.read(1) not in (b"", b"\n"):
        file.seek(0)
        file.truncate(_whole(file.read()))


def _flush(file: BinaryIO) -> None:
    file.flush()
    os.fsync(file.fileno())


def _text(rows: Iterable[tuple[object, ...]]) -> str:
    """A line a row, quoted where it must be."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    for row in rows:
        parts = [_number(part) if isinstance(part, float) else str(part) for part in row]
        if any(mark in part for part in parts for mark in "\r\n"):
            raise ResultsError(f"a row is a line, so there can be no line break in {row[:6]}")
        writer.writerow(parts)
    return text.getvalue()


def _number(value: float) -> str:
    """Eight digits, which a reader turns into the same eight digits."""
    return f"{value:.8g}"


def _closed(path: Path) -> Iterator[Row]:
    if not path.exists():
        return
    lines = _lines(path.read_text(encoding="utf-8"), path)
    columns = next(lines, [])
    if tuple(columns) != Row._fields:
        raise ResultsError(f"{path}, line 1: wanted the columns {', '.join(Row._fields)}, got {', '.join(columns)}")
    yield from (_parsed(parts, path, number) for number, parts in enumerate(lines, start=2))


def _journalled(path: Path) -> Iterator[Row]:
    """What a run that did not end has left, without what cannot be read: that is measured again."""
    content = path.read_bytes() if path.exists() else b""
    text = content[: _whole(content)].decode("utf-8", errors="replace")
    for number, parts in enumerate(_lines(text, path), start=1):
        with contextlib.suppress(ResultsError):
            yield _parsed(parts, path, number)


def _whole(content: bytes) -> int:
    """Where the last whole line ends."""
    return content.rfind(b"\n") + 1


def _lines(text: str, path: Path) -> Iterator[list[str]]:
    """The cells of each line; a quotation mark that is never closed stays within its line."""
    for number, line in enumerate(text.removesuffix("\n").split("\n"), start=1):
        try:
            yield next(csv.reader([line]), [])
        except csv.Error as error:
            raise ResultsError(f"{path}, line {number}: {error}") from None


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
