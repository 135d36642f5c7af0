"""csv files with a header, parsed one block at a time. Errors name the row."""

from __future__ import annotations

import csv
import io
import itertools
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from operator import itemgetter
from pathlib import Path
from typing import IO, Any

import numpy as np

from slova._backend import Array
from slova.io.blocks import (
    LABEL,
    Block,
    Bounds,
    Columns,
    TableError,
    block_rows,
    check_names,
    label_column,
    logit_columns,
)

__all__ = ["open_writer", "read", "read_text_columns", "stdout_writer"]

Cells = list[list[str]]


def read(path: Path, roles: Sequence[str], bounds: Bounds) -> Iterator[Block]:
    """Blocks of logits and labels in float64."""
    with open(path, "rb") as binary, io.TextIOWrapper(binary, "utf-8-sig", newline="") as text:
        length = os.fstat(binary.fileno()).st_size
        rows = csv.reader(text, strict=True)
        try:
            names = _header(rows, path)
            chosen = _chosen(names, roles, path)
            wanted = list(itertools.chain(*chosen.values()))
            height, number = _height(bounds, chosen, path), 0
            for block in _batched(rows, height):
                numbers = _numbers(block, number, names, wanted, path)
                number += len(block)
                yield _split(numbers, chosen, min(1.0, binary.tell() / length))
        except (csv.Error, UnicodeDecodeError) as error:
            raise TableError(f"{path} is not a readable csv file: {error}") from error


def read_text_columns(path: Path) -> dict[str, list[str]]:
    """The columns of a csv file as text, other than logits and labels."""
    try:
        with open(path, encoding="utf-8-sig", newline="") as text:
            rows = csv.reader(text, strict=True)
            names = _header(rows, path)
            cells = [row for row in rows if row]
    except (csv.Error, UnicodeDecodeError) as error:
        raise TableError(f"{path} is not a readable csv file: {error}") from error
    short = next((number for number, row in enumerate(cells) if len(row) != len(names)), None)
    if short is not None:
        raise TableError(f"{path} has {len(cells[short])} fields in row {short}, expected {len(names)}")
    kept = [place for place, name in enumerate(names) if name != LABEL and not name.startswith("logit_")]
    return {names[place]: [row[place] for row in cells] for place in kept}


def _header(rows: Iterator[list[str]], path: Path) -> list[str]:
    names = [name.strip() for name in next(rows, [])]
    if not names:
        raise TableError(f"{path} is empty: expected a header with the names of the columns")
    check_names(names, path)
    return names


def _chosen(names: list[str], roles: Sequence[str], path: Path) -> dict[str, list[int]]:
    """The positions of the columns of logits and labels."""
    chosen: dict[str, list[int]] = {}
    positions = {name: position for position, name in enumerate(names)}
    if "logits" in roles:
        chosen["logits"] = [positions[name] for name in logit_columns(names, path)]
    if "labels" in roles:
        chosen["labels"] = [positions[label_column(names, path)]]
    return chosen


def _height(bounds: Bounds, chosen: dict[str, list[int]], path: Path) -> int:
    return bounds.rows(len(chosen["logits"]), path) if "logits" in chosen else block_rows(bounds.size, 1)


def _is_plain(text: str) -> bool:
    """Python's float also reads 1_5 and digits of other scripts."""
    return text.isascii() and "_" not in text


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return _is_plain(cell)


def _batched(rows: Iterator[list[str]], height: int) -> Iterator[Cells]:
    while block := list(itertools.islice((row for row in rows if row), height)):  # blank lines are skipped
        yield block


def _numbers(block: Cells, number: int, names: list[str], wanted: list[int], path: Path) -> Array:
    for i, row in enumerate(block):
        if len(row) != len(names):
            raise TableError(
                f"{path} has {len(row)} cells in row {number + i} (counted from 0), and {len(names)} columns"
            )
    pick = itemgetter(*wanted) if len(wanted) > 1 else lambda row: (row[wanted[0]],)
    cells = [pick(row) for row in block]
    try:
        if not all(_is_plain("".join(row)) for row in cells):
            raise ValueError
        return np.array(cells, np.float64)
    except ValueError:
        i, k = next((i, k) for i, row in enumerate(block) for k in wanted if not _is_number(row[k]))
        raise TableError(
            f"{path} has {block[i][k]!r} in row {number + i} (counted from 0), column {names[k]!r}; expected a number"
        ) from None


def _split(numbers: Array, chosen: dict[str, list[int]], done: float) -> Block:
    logits = len(chosen.get("logits", ()))
    return Block(numbers[:, :logits] if logits else None, numbers[:, logits] if "labels" in chosen else None, done)


@contextmanager
def open_writer(path: Path) -> Iterator[Callable[[Columns], None]]:
    with open(path, "w", encoding="utf-8", newline="") as file:
        yield _writer(file)


@contextmanager
def stdout_writer() -> Iterator[Callable[[Columns], None]]:
    yield _writer(sys.stdout)
    sys.stdout.flush()


def _writer(file: IO[str]) -> Callable[[Columns], None]:
    """Numbers are written with enough digits to be read back exactly, text is quoted where necessary."""
    header = False

    def write(columns: Columns) -> None:
        nonlocal header
        if not header:
            file.write(",".join(columns) + "\n")
            header = True
        row = ",".join(_digits(column) for column in columns.values()) + "\n"
        file.write(
            "".join(row % values for values in zip(*(_values(column) for column in columns.values()), strict=True))
        )

    return write


def _values(column: Array) -> list[Any]:
    return [_quoted(text) for text in column.tolist()] if column.dtype.kind == "U" else column.tolist()


def _quoted(text: str) -> str:
    return '"{}"'.format(text.replace('"', '""')) if any(mark in text for mark in ',"\r\n') else text


def _digits(column: Array) -> str:
    if column.dtype.kind == "U":
        return "%s"
    return "%d" if column.dtype.kind in "iu" else "%.9g" if column.dtype.itemsize <= 4 else "%.17g"
