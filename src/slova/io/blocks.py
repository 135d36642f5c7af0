"""What all formats share: blocks of rows, how many rows a block has, which columns are logits, one kind of error."""

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
    "Read",
    "TableError",
    "Writing",
    "block_rows",
    "label_column",
    "logit_columns",
]

Columns = Mapping[str, Array]
ROWS, CELLS = 65_536, 1 << 21  # a block of float64 is then at most 16 MB, however many classes there are
LABEL = "label"


class TableError(ValueError):
    """A file that cannot be read or written as asked, in one sentence that names the file."""


class Block(NamedTuple):
    """The next rows of a file: logits (n, K), labels (n,), None for what was not asked for, and how much of the file
    has been read, in [0, 1]."""

    logits: Array
    labels: Array
    done: float


Read = Callable[[Path, Sequence[str], int | None], Iterator[Block]]
"""path, which of "logits" and "labels" are wanted, rows a block (None: as many as is sensible) -> blocks."""
Writing = Callable[[Path], AbstractContextManager[Callable[[Columns], None]]]
"""path -> a context that gives a function to write blocks of columns with, and finishes the file when it ends well."""


def block_rows(size: int | None, classes: int) -> int:
    return size if size is not None else max(1, min(ROWS, CELLS // classes))


def logit_columns(names: Sequence[str], path: Path | str, also: str = "") -> list[str]:
    """logit_0, logit_1, ... and no others: an age, or the confidence of an earlier answer, is a number too."""
    numbered = {int(match[1]): name for name in names if (match := re.fullmatch(r"logit_(\d+)", name))}
    if numbered and sorted(numbered) != list(range(len(numbered))):
        raise TableError(
            f"{path} has the columns {_listed(names)}; wanted logit_0 to logit_{len(numbered) - 1} without gaps"
        )
    if not numbered:
        raise TableError(
            f"{path} has no column of logits: wanted logit_0, logit_1, ..., there are {_listed(names)}{also}"
        )
    return [numbered[k] for k in sorted(numbered)]


def label_column(names: Sequence[str], path: Path | str) -> str:
    if LABEL not in names:
        raise TableError(f"{path} has no column {LABEL!r}: there are {_listed(names)}")
    return LABEL


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:12])
    return f"{shown}, ... ({len(names)} in all)" if len(names) > 12 else shown or "none"
