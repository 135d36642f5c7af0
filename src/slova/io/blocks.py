"""Definitions shared by all formats: blocks of rows, the size of a block, the names of columns, the error type."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import NamedTuple

from slova._backend import Array

__all__ = [
    "LABEL",
    "Block",
    "Columns",
    "OpenWriter",
    "Read",
    "TableError",
    "block_rows",
    "label_column",
    "logit_columns",
]

Columns = Mapping[str, Array]
ROWS, CELLS = 65_536, 1 << 21  # a block of float64 is then at most 16 MB, however many classes there are
LABEL = "label"
NUMBERED = "logit_(0|[1-9][0-9]*)"


class TableError(ValueError):
    """A file cannot be read or written. The message is one sentence that names the file."""


class Block(NamedTuple):
    """Consecutive rows of a file: logits (n, K) and labels (n,), None if not requested, and the share of the file that
    has been read, in [0, 1]."""

    logits: Array
    labels: Array
    done: float


Read = Callable[[Path, Sequence[str], int | None], Iterator[Block]]
"""(path, roles, rows per block or None for the default) -> blocks; roles are "logits", "labels" or both."""
OpenWriter = Callable[[Path], AbstractContextManager[Callable[[Columns], None]]]
"""path -> a context manager that yields a function to write blocks of columns, and completes the file on success."""


def block_rows(size: int | None, classes: int) -> int:
    return size if size is not None else max(1, min(ROWS, CELLS // classes))


def logit_columns(names: Sequence[str], path: Path | str, also: str = "") -> list[str]:
    """The columns logit_0, logit_1, ... in order. Other numeric columns are not logits."""
    for name in names:
        if re.fullmatch(r"logit_\d+", name) and not re.fullmatch(NUMBERED, name):
            raise TableError(f"{path} has the column {name!r}; expected logit_0, logit_1, ... without leading zeros")
    numbered = {int(match[1]): name for name in names if (match := re.fullmatch(NUMBERED, name))}
    if numbered and sorted(numbered) != list(range(len(numbered))):
        raise TableError(
            f"{path} has the columns {_name_list(names)}; expected logit_0 to logit_{len(numbered) - 1} without gaps"
        )
    if not numbered:
        raise TableError(
            f"{path} has no column of logits: expected logit_0, logit_1, ..., found {_name_list(names)}{also}"
        )
    return [numbered[k] for k in sorted(numbered)]


def label_column(names: Sequence[str], path: Path | str) -> str:
    if LABEL not in names:
        raise TableError(f"{path} has no column {LABEL!r}: found {_name_list(names)}")
    return LABEL


def _name_list(names: Sequence[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:12])
    return f"{shown}, ... ({len(names)} in all)" if len(names) > 12 else shown or "none"
