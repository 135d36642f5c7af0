"""Definitions shared by all formats: blocks of rows and their bounds, the names of columns, the error type."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from slova._backend import Array

__all__ = ["ARRAYS", "LABELS", "MEMORY", "Block", "Bounds", "Columns", "OpenWriter", "Read", "TableError"]

Columns = Mapping[str, Array]
ROWS, CELLS = 65_536, 1 << 21  # a block of float64 is then at most 16 MB, however many classes there are
MEMORY = 2 << 30  # bytes of the arrays that are read at once, unless --max-memory says otherwise
LONGEST = 800  # characters of a message
LABELS = ("label", "labels")
ARRAYS = ("logits", "probs", "probabilities")  # and list columns
NUMBERED = ("logit", "prob", "p")  # columns logit_0, logit_1, ...
EXPECTED = "expected logit_0, logit_1, ... or prob_0, prob_1, ..."


class TableError(ValueError):
    """A file cannot be read or written. The message is one sentence that names the file; what it quotes is cut off."""

    def __init__(self, message: str) -> None:
        super().__init__(shortened(message))


def shortened(message: str, longest: int = LONGEST) -> str:
    return message if len(message) <= longest else f"{message[:longest]} ..."


class Block(NamedTuple):
    """Consecutive rows of a file: logits (n, K) and labels (n,), None if not requested, and the share of the file that
    has been read, in [0, 1]. Logits may be probabilities: then `probs` is the name of their first column, or of their
    array, if it says so."""

    logits: Array
    labels: Array
    done: float = 1.0
    probs: str | None = None


@dataclass(frozen=True)
class Bounds:
    """What is read at once: `size` rows (None for a few megabytes) of `classes` logits (None for any number), and
    never more than `memory` bytes."""

    size: int | None = None
    classes: int | None = None
    memory: int = MEMORY

    def rows(self, columns: int, path: Path | str, itemsize: int = 8, unit: str = "logits per row") -> int:
        """The rows per block of a file that declares so many logits per row, checked before any is read."""
        self.check_classes(columns, path)
        row = max(1, columns * itemsize)
        if row > self.memory:
            raise TableError(
                f"{path} has {columns} {unit}: a row of {row >> 20} MiB is more than "
                f"--max-memory, {self.memory >> 20} MiB"
            )
        return min(self.few_rows(columns), max(1, self.memory // row))

    def few_rows(self, columns: int) -> int:
        """A few megabytes, unless the size is given."""
        return self.size or max(1, min(ROWS, CELLS // max(1, columns)))

    def check_classes(self, columns: float, path: Path | str) -> None:
        if self.classes is not None and columns != self.classes:
            expected = f"{self.classes}, one per class" if self.classes > 1 else "1, of class 1 against class 0"
            raise TableError(f"{path} has {columns:.12g} logits per row, expected {expected}")


Read = Callable[[Path, Sequence[str], Bounds], Iterator[Block]]
"""(path, roles, bounds) -> blocks; roles are "logits", "labels" or both."""
OpenWriter = Callable[[Path], AbstractContextManager[Callable[[Any], None]]]
"""path -> a context manager that yields a function to write blocks of columns, and completes the file on success."""


def check_type(dtype: np.dtype[Any], role: str, path: Path | str, name: str | None = None) -> None:
    kinds, expected = ("f", "floating point") if role == "logits" else ("iuf", "integers, the numbers of the columns")
    if dtype.kind not in kinds:
        found = "text" if dtype.kind in "US" else dtype
        raise TableError(f"{path} has {name or role} of type {found}; expected {expected}")


def check_names(names: Sequence[str], path: Path | str) -> None:
    twice = [name for name, count in Counter(names).items() if name and count > 1]
    if twice:
        raise TableError(f"{path} has the column {min(twice)!r} twice")


def find_kind(names: Sequence[str], lists: Sequence[str], path: Path | str) -> str | None:
    """What holds the logits, or else the probabilities: one of the arrays or list columns `lists`, or the first word of
    numbered columns. Two kinds of probabilities are an error, because which of them is meant would be a guess."""
    numbered = {numbered_kind(name) for name in names}
    found = [*(name for name in ARRAYS if name in lists), *(kind for kind in NUMBERED if kind in numbered)]
    kind = next((kind for kind in found if not are_probs(kind)), found[0] if found else None)
    if kind is not None and are_probs(kind) and len(found) > 1:
        first, second = (
            next(name for name in (*lists, *names) if kind in (name, numbered_kind(name))) for kind in found[:2]
        )
        raise TableError(f"{path} has probabilities twice, in {first!r} and in {second!r}; expected one of them")
    return kind


def are_probs(name: str) -> bool:
    """Whether a column or array of this name holds probabilities instead of logits."""
    return not name.startswith("logit")


def numbered_kind(name: str) -> str | None:
    """The first word, "logit", "prob" or "p", of a column such as logit_0, prob_0 or p_0; None of other columns."""
    kind, _, number = name.partition("_")
    return kind if kind in NUMBERED and number.isdecimal() else None


def numbered_columns(names: Sequence[str], kind: str | None, path: Path | str, also: str = "") -> list[str]:
    """The columns logit_0, logit_1, ... or, of another kind, prob_0, prob_1, ... in order. Other numeric columns are
    neither."""
    found = [] if kind is None else [name for name in names if numbered_kind(name) == kind]
    odd = next((name for name in found if not re.fullmatch("[a-z]+_(0|[1-9][0-9]*)", name)), None)
    if odd is not None:
        raise TableError(f"{path} has the column {odd!r}; expected {kind}_0, {kind}_1, ... without leading zeros")
    wanted = [f"{kind}_{k}" for k in range(len(found))]
    if not found:
        raise TableError(
            f"{path} has no column of logits or probabilities: {EXPECTED}, found {_name_list(names)}{also}"
        )
    if set(found) != set(wanted):
        raise TableError(f"{path} has the columns {_name_list(names)}; expected {kind}_0 to {wanted[-1]} without gaps")
    return wanted


def label_column(names: Sequence[str], path: Path | str) -> str:
    """`label`, or else `labels`."""
    found = next((name for name in LABELS if name in names), None)
    if found is None:
        raise TableError(f"{path} has no column {LABELS[0]!r}: found {_name_list(names)}")
    return found


def _name_list(names: Sequence[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:12])
    return f"{shown}, ... ({len(names)} in all)" if len(names) > 12 else shown or "none"
