"""A file of logits, with labels in the same or a second file, read as validated blocks."""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from slova._backend import Array
from slova.heads import NONE
from slova.io.blocks import Block, TableError
from slova.io.formats import format_of

__all__ = ["Table", "floating_logits", "integer_labels"]


@dataclass(frozen=True)
class Table:
    """A file of logits. `labels` is a separate file of labels, `size` the number of rows per block."""

    path: Path
    labels: Path | None = None
    size: int | None = None

    def blocks(self, *, labelled: bool = False, classes: int | None = None) -> Generator[Block, None, None]:
        """Blocks of logits in float32 or float64 without NaN and, if `labelled`, labels in int64 from NONE to K - 1."""
        try:
            yield from _checked(self, self._joined() if labelled else self._read(self.path, "logits"), classes)
        except OSError as error:
            raise TableError(f"{error.filename or self.path} cannot be read: {error.strerror or error}") from error

    def arrays(self) -> tuple[Array, Array]:
        """All logits and labels, in memory."""
        blocks = list(self.blocks(labelled=True))
        return np.concatenate([block.logits for block in blocks]), np.concatenate([block.labels for block in blocks])

    def classes(self) -> int:
        """The number of logits per row, read from the first row."""
        with contextlib.closing(Table(self.path, size=1).blocks()) as blocks:
            return int(next(blocks).logits.shape[1])

    def _read(self, path: Path, *roles: str) -> Iterator[Block]:
        return format_of(path).read(path, roles, self.size)

    def _joined(self) -> Iterator[Block]:
        if self.labels is None:
            yield from self._read(self.path, "logits", "labels")
            return
        labels = _Cursor(block.labels for block in self._read(self.labels, "labels"))
        seen = 0
        for block in self._read(self.path, "logits"):
            rows = len(block.logits)
            found, seen = labels.take(rows), seen + rows
            if len(found) < rows:
                raise TableError(f"{self.labels} has {seen - rows + len(found)} labels, and {self.path} has more rows")
            yield Block(block.logits, found, block.done)
        if len(labels.take(1)):
            raise TableError(f"{self.labels} has more labels than the {seen} rows of {self.path}")


class _Cursor:
    """A sequence of arrays, read in slices of any length."""

    def __init__(self, arrays: Iterator[Array]) -> None:
        self.arrays, self.rest = arrays, np.empty(0, np.int64)

    def take(self, rows: int) -> Array:
        parts, missing = [], rows
        while missing and (len(self.rest) or self._refill()):
            parts.append(self.rest[:missing])
            missing, self.rest = missing - len(parts[-1]), self.rest[missing:]
        return np.concatenate(parts) if parts else np.empty(0, np.int64)

    def _refill(self) -> bool:
        self.rest = next(self.arrays, np.empty(0, np.int64))
        return len(self.rest) > 0


def _checked(table: Table, blocks: Iterator[Block], classes: int | None) -> Iterator[Block]:
    first = 0
    for block in blocks:
        logits = floating_logits(block.logits, table.path)
        if classes is not None and logits.shape[1] != classes:
            raise TableError(f"{table.path} has {logits.shape[1]} logits per row, expected {classes}, one per class")
        classes = logits.shape[1]
        if np.isnan(logits).any():
            raise _nan_error(table.path, first, logits, blocks)
        labels = (
            None if block.labels is None else integer_labels(block.labels, first, classes, table.labels or table.path)
        )
        first += len(logits)
        yield Block(logits, labels, block.done)
    if not first:
        raise TableError(f"{table.path} has no rows")


def floating_logits(logits: Array, path: Path | str) -> Array:
    """Logits as float32 or float64."""
    if logits.dtype.kind != "f":
        raise TableError(f"{path} has logits of type {logits.dtype}; expected floating point")
    return logits.astype(np.float32 if logits.dtype.itemsize <= 4 else np.float64, copy=False)


def _nan_error(path: Path, first: int, logits: Array, rest: Iterator[Block]) -> TableError:
    """The error counts the rows of the whole file, so the rest is read as well."""
    bad = np.isnan(logits).any(axis=1)
    count, rows = int(bad.sum()), first + len(bad)
    for block in rest:
        count, rows = count + int(np.isnan(block.logits).any(axis=1).sum()), rows + len(block.logits)
    return TableError(
        f"{path} has NaN in {count} of {rows} rows, the first in row {first + int(bad.argmax())} (counted from 0)"
    )


def integer_labels(labels: Array, first: int, classes: int, path: Path | str) -> Array:
    """Labels as int64; floating point is accepted where it is integral, as in csv files. One column has two classes."""
    classes = max(2, classes)
    if labels.dtype.kind not in "iuf":
        raise TableError(f"{path} has labels of type {labels.dtype}; expected integers")
    bad = ~((labels >= NONE) & (labels < classes) & (labels == np.floor(labels)))
    if bad.any():
        row, label = first + int(bad.argmax()), labels[bad.argmax()].item()
        raise TableError(
            f"{path} has the label {label} in row {row} (counted from 0); expected -1 (NONE) to {classes - 1}"
        )
    return labels.astype(np.int64)
