"""A file of logits, with labels in the same or a second file, read as validated blocks."""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from slova._backend import Array
from slova._detect import ROUNDING
from slova.heads import NONE
from slova.io.blocks import MEMORY, Block, Bounds, TableError, check_type
from slova.io.formats import format_of

__all__ = ["Table", "check_block"]


@dataclass(frozen=True)
class Table:
    """A file of logits or probabilities. `labels` is a separate file of labels, `size` the number of rows per block,
    `memory` the most bytes that the arrays read at once may have, and `expected` the number of logits per row, if it is
    known."""

    path: Path
    labels: Path | None = None
    size: int | None = None
    memory: int = MEMORY
    expected: int | None = None

    def blocks(self, *, labelled: bool = False, classes: int | None = None) -> Generator[Block, None, None]:
        """Blocks of logits in float32 or float64 without NaN and, if `labelled`, labels in int64 from NONE to K - 1."""
        classes = self.expected if classes is None else classes
        bounds = Bounds(self.size, classes, self.memory)
        try:
            yield from _checked(self, self._joined(bounds) if labelled else _read(self.path, bounds, "logits"), classes)
        except OSError as error:
            raise TableError(f"{error.filename or self.path} cannot be read: {error.strerror or error}") from error

    def arrays(self) -> tuple[Array, Array]:
        """All logits and labels, in memory. A file that is too large is refused after its first block."""
        blocks, seen = [], 0
        for block in self.blocks(labelled=True):
            seen += block.logits.nbytes + block.labels.nbytes
            if seen / block.done > self.memory:
                raise TableError(
                    f"{self.path} needs {round(seen / block.done) >> 20} MiB, more than --max-memory, "
                    f"{self.memory >> 20} MiB: raise it, or fit with --stream"
                )
            blocks.append(block)
        return np.concatenate([block.logits for block in blocks]), np.concatenate([block.labels for block in blocks])

    def classes(self) -> int:
        """The number of logits per row, read from the first row."""
        with contextlib.closing(replace(self, labels=None, size=1).blocks()) as blocks:
            return int(next(blocks).logits.shape[1])

    def _joined(self, bounds: Bounds) -> Iterator[Block]:
        if self.labels is None:
            yield from _read(self.path, bounds, "logits", "labels")
            return
        labels = _Cursor(block.labels for block in _read(self.labels, bounds, "labels"))
        seen = 0
        for block in _read(self.path, bounds, "logits"):
            rows = len(block.logits)
            found, seen = labels.take(rows), seen + rows
            if len(found) < rows:
                raise TableError(f"{self.labels} has {seen - rows + len(found)} labels, and {self.path} has more rows")
            yield block._replace(labels=found)
        if len(labels.take(1)):
            raise TableError(f"{self.labels} has more labels than the {seen} rows of {self.path}")


def _read(path: Path, bounds: Bounds, *roles: str) -> Iterator[Block]:
    return format_of(path).read(path, roles, bounds)


class _Cursor:
    """A sequence of arrays, read in slices of any length."""

    def __init__(self, arrays: Iterator[Array]) -> None:
        self.arrays, self.rest = arrays, np.empty(0, np.int64)

    def take(self, rows: int) -> Array:
        parts = [self.rest]
        while sum(map(len, parts)) < rows and (following := next(self.arrays, None)) is not None:
            parts.append(following)
        found = np.concatenate([part for part in parts if len(part)] or parts)
        self.rest = found[rows:]
        return found[:rows]


def _checked(table: Table, blocks: Iterator[Block], classes: int | None) -> Iterator[Block]:
    first = 0
    for block in blocks:
        block = check_block(block, table.path, first, classes, table.labels)
        if np.isnan(block.logits).any():
            raise _nan_error(table.path, first, block.logits, blocks)
        classes, first = block.logits.shape[1], first + len(block.logits)
        yield block
    if not first:
        raise TableError(f"{table.path} has no rows")


def check_block(
    block: Block, path: Path | str, first: int, classes: int | None, labels_path: Path | None = None
) -> Block:
    """Logits as float32 or float64, this many per row, and labels as int64."""
    check_type(block.logits.dtype, "logits", path)
    logits = block.logits.astype(np.float32 if block.logits.dtype.itemsize <= 4 else np.float64, copy=False)
    Bounds(classes=classes).check_classes(logits.shape[1], path)
    if block.probs is not None:
        logits = _shares(logits, block.probs, path, first)
    if block.labels is None:
        return block._replace(logits=logits)
    return block._replace(
        logits=logits, labels=integer_labels(block.labels, first, logits.shape[1], labels_path or path)
    )


def _shares(values: Array, name: str, path: Path | str, first: int) -> Array:
    """Values that are probabilities by their name, in [0, 1] but for rounding, which is cut off; NaN stays."""
    outside = (values < 0) | (values > 1)
    if not outside.any():
        return values
    wrong = (values < -ROUNDING) | (values > 1 + ROUNDING)
    if wrong.any():
        row = int(wrong.any(axis=1).argmax())
        value = values[row, wrong[row].argmax()]
        raise TableError(
            f"{path} has {value:.6g} in row {first + row} (counted from 0) of the probabilities {name!r}; "
            "expected values from 0 to 1"
        )
    return np.clip(values, 0, 1)


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
    """Labels from NONE to K - 1; floating point is accepted where it is integral, as in csv files. One column has two
    classes."""
    classes = max(2, classes)
    check_type(labels.dtype, "labels", path)
    bad = ~((labels >= NONE) & (labels < classes) & (labels == np.floor(labels)))
    if bad.any():
        row, label = first + int(bad.argmax()), labels[bad.argmax()].item()
        raise TableError(
            f"{path} has the label {label} in row {row} (counted from 0); expected -1 (NONE) to {classes - 1}"
        )
    return labels.astype(np.int64)
