"""Rows on disk: one CSV per experiment, a line per cell, a column per metric. In Python, and in the journal to which
rows are appended while an experiment runs, a row is one number.

A run can be killed at any point and started again: a row that is there is not computed again, and an incomplete line
is dropped. Several runs may write to one folder at a time: each locks it for as long as it reads or writes there.
"""

from __future__ import annotations

import contextlib
import csv
import io
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import BinaryIO, NamedTuple

from slova.artifact import atomic_path

try:
    import fcntl
except ImportError:  # Windows, where a folder cannot be locked: one run at a time
    fcntl = None  # type: ignore[assignment]

__all__ = ["Cell", "Results", "ResultsError", "Row", "locked", "variant"]

TEXT = ("experiment", "method", "preset", "train", "test", "shift", "parameter", "metric")
KINDS: dict[str, Callable[[str], object]] = {**dict.fromkeys(TEXT, str), "seed": int, "n": int}  # others are floats


class ResultsError(ValueError):
    """A file of results cannot be read; the message has line and column."""


class Cell(NamedTuple):
    """What was measured: all fields of a row but the metric and its value. `preset` is empty for the fair one;
    `parameter` is what an experiment varies within a method (M, n_b), empty where nothing is."""

    experiment: str
    method: str
    preset: str
    train: str
    test: str
    shift: str
    level: float
    seed: int
    n: int
    parameter: str = ""
    parameter_value: float = 0.0

    @property
    def key(self) -> tuple[object, ...]:
        """What makes two cells the same; the number of images does not."""
        level, value = _as_read(self.level), _as_read(self.parameter_value)
        return (*self[:3], self.parameter, value, *self[3:6], level, self.seed)


class Row(NamedTuple):
    """One number."""

    experiment: str
    method: str
    preset: str
    train: str
    test: str
    shift: str
    level: float
    seed: int
    n: int
    parameter: str
    parameter_value: float
    metric: str
    value: float

    @classmethod
    def of(cls, cell: Cell, metric: str, value: float) -> Row:
        return cls(*cell, metric, float(value))

    @property
    def cell(self) -> Cell:
        return Cell(*self[:-2])

    @property
    def variant(self) -> str:
        return variant(self.preset, self.parameter, self.parameter_value)

    @property
    def key(self) -> tuple[object, ...]:
        """What makes two rows the same measurement."""
        return (*self.cell.key, self.metric)


def variant(preset: str, parameter: str, value: float) -> str:
    """What distinguishes variants of a method, for display.

    >>> variant("paper", "M", 20.0), variant("", "", 0.0)
    ('paper M=20', '')
    """
    return f"{preset} {parameter}={value:g}".strip() if parameter else preset


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Nobody else reads or writes results in this folder meanwhile. The lock of a killed process is released."""
    if fcntl is None or not folder.is_dir():
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


class Results:
    """The rows of one experiment in a folder."""

    def __init__(self, folder: str | Path, experiment: str) -> None:
        self.path = Path(folder) / f"{experiment}.csv"
        self.journal = Path(folder) / f".{experiment}.journal.csv"

    def read(self) -> list[Row]:
        """All rows, those of an interrupted run included; of two for the same measurement, the later."""
        with locked(self.path.parent):
            return self._read()

    def _read(self) -> list[Row]:
        rows = [*_closed(self.path), *_journalled(self.journal)]
        return list({row.key: row for row in rows}.values())

    def append(self, rows: Iterable[Row]) -> None:
        """Add rows to the journal; they are on the disk when this returns. An incomplete line is dropped
        first."""
        content = _text(rows).encode()
        self.journal.parent.mkdir(parents=True, exist_ok=True)
        with locked(self.journal.parent), open(self.journal, "a+b") as file:
            _drop_incomplete_line(file)
            file.write(content)
            _flush(file)

    def close(self) -> list[Row]:
        """Write all rows in order to the CSV, and remove the journal."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with locked(self.path.parent):
            rows = sorted(self._read(), key=lambda row: row.key)
            with atomic_path(self.path) as temporary, open(temporary, "wb") as file:
                file.write(_text(_wide(rows)).encode())
                _flush(file)
            self.journal.unlink(missing_ok=True)
        return rows


def _wide(rows: Iterable[Row]) -> list[tuple[object, ...]]:
    """A header, and a line per cell with a column per metric, empty where it was not measured."""
    cells: dict[Cell, dict[str, float]] = {}
    for row in rows:
        cells.setdefault(row.cell, {})[row.metric] = row.value
    metrics = sorted({metric for found in cells.values() for metric in found})
    lines = [(*cell, *(found.get(metric, "") for metric in metrics)) for cell, found in cells.items()]
    return [(*Cell._fields, *metrics), *lines]


def _drop_incomplete_line(file: BinaryIO) -> None:
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - 1))
    if file.read(1) not in (b"", b"\n"):
        file.seek(0)
        file.truncate(_whole(file.read()))


def _flush(file: BinaryIO) -> None:
    file.flush()
    os.fsync(file.fileno())


def _text(rows: Iterable[tuple[object, ...]]) -> str:
    """One line per row, quoted where necessary."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    for row in rows:
        parts = [_number(part) if isinstance(part, float) else str(part) for part in row]
        if any(mark in part for part in parts for mark in "\r\n"):
            raise ResultsError(f"a row is a line, so there can be no line break in {row[:6]}")
        writer.writerow(parts)
    return text.getvalue()


def _number(value: float) -> str:
    """Eight digits, which are the same eight digits after reading."""
    return f"{value:.8g}"


@lru_cache(10_000)
def _as_read(value: float) -> float:
    """A number after it was written and read; there are few levels and many rows."""
    return float(_number(value))


def _closed(path: Path) -> Iterator[Row]:
    if not path.exists():
        return
    lines = _lines(path.read_text(encoding="utf-8"), path)
    columns, width = next(lines, []), len(Cell._fields)
    if tuple(columns[:width]) != Cell._fields:
        expected, got = ", ".join(Cell._fields), ", ".join(columns)
        raise ResultsError(f"{path}, line 1: the columns must be {expected} and the metrics, got {got}")
    for number, parts in enumerate(lines, start=2):
        values = _values(columns, parts, path, number)
        cell = Cell(**{name: values[name] for name in Cell._fields})  # type: ignore[arg-type]
        yield from (Row.of(cell, name, values[name]) for name in columns[width:] if name in values)  # type: ignore[arg-type]


def _journalled(path: Path) -> Iterator[Row]:
    """The rows of an unfinished run; lines that cannot be read are left out, and measured again."""
    content = path.read_bytes() if path.exists() else b""
    text = content[: _whole(content)].decode("utf-8", errors="replace")
    for number, parts in enumerate(_lines(text, path), start=1):
        with contextlib.suppress(ResultsError):
            yield Row(**_values(Row._fields, parts, path, number))  # type: ignore[arg-type]


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


def _values(columns: Sequence[str], parts: list[str], path: Path, number: int) -> dict[str, object]:
    """The fields of a line by column, numbers as numbers; a metric that was not measured is left out."""
    if len(parts) != len(columns):
        raise ResultsError(f"{path}, line {number}: there must be {len(columns)} columns, got {len(parts)}")
    values: dict[str, object] = {}
    for name, part in zip(columns, parts, strict=True):
        try:
            if part or name in Row._fields:
                values[name] = KINDS.get(name, float)(part)
        except ValueError:
            raise ResultsError(f"{path}, line {number}, column {name}: {part!r} is not a number") from None
    return values
