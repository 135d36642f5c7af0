"""csv files with a header, parsed one block at a time. Errors name the row.

Numbers are parsed by `numpy.loadtxt`, which accepts plain decimal numbers only and needs no extra. (`pyarrow.csv`
refuses "+4", and does not count the rows of a stream.)
"""

from __future__ import annotations

import csv
import io
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import IO, Any

import numpy as np

from slova._backend import Array
from slova.io.blocks import (
    LABELS,
    Block,
    Bounds,
    Columns,
    TableError,
    are_probs,
    check_names,
    find_kind,
    label_column,
    numbered_columns,
    numbered_kind,
)

__all__ = ["open_writer", "read", "read_text_columns", "stdout_writer"]

ODD_SPACES = "\x0b\x0c\x1c\x1d\x1e\x1f"


def read(path: Path, roles: Sequence[str], bounds: Bounds) -> Iterator[Block]:
    """Blocks of logits and labels in float64."""
    with _open(path) as (binary, names, text):
        length = os.fstat(binary.fileno()).st_size
        chosen = _chosen(names, roles, path)
        logits, labels = chosen.get("logits", []), chosen.get("labels", [])
        probs = names[logits[0]] if logits and are_probs(names[logits[0]]) else None
        if logits:
            bounds.check_classes(len(logits), path)
        height, infinite = replace(bounds, classes=None).rows(len(names), path, unit="columns"), list[int]()
        wanted = {*logits, *labels}
        others = [k for k in range(len(names)) if k not in wanted]
        types, lines, number = _types(len(names), wanted), _lines(text, others, infinite), 0
        for line in lines:
            block = _numbers(chain([line], lines), types, height, number, names, path)
            _check_range(block, infinite, number, path)
            infinite.clear()
            number += len(block)
            done = min(1.0, binary.tell() / length)
            yield Block(block[:, logits] if logits else None, block[:, labels[0]] if labels else None, done, probs)


def read_text_columns(path: Path) -> dict[str, list[str]]:
    """The columns of a csv file as text, other than logits, probabilities and labels."""
    with _open(path) as (_, names, text):
        cells = [row for row in csv.reader(text, strict=True) if row]
    short = next((number for number, row in enumerate(cells) if len(row) != len(names)), None)
    if short is not None:
        raise TableError(f"{path} has {len(cells[short])} fields in row {short}, expected {len(names)}")
    kept = [place for place, name in enumerate(names) if name not in LABELS and numbered_kind(name) is None]
    return {names[place]: [row[place] for row in cells] for place in kept}


@contextmanager
def _open(path: Path) -> Iterator[tuple[IO[bytes], list[str], IO[str]]]:
    """The file, the names of its columns, and its text after them."""
    try:
        with open(path, "rb") as binary, io.TextIOWrapper(binary, "utf-8-sig", newline="") as text:
            yield binary, _header(csv.reader(text, strict=True), path), text
    except UnicodeDecodeError as error:
        raise TableError(f"{path} is not a readable csv file: it is not text in UTF-8") from error
    except csv.Error as error:
        raise TableError(f"{path} is not a readable csv file: {error}") from error


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
        columns = numbered_columns(names, find_kind(names, (), path), path)
        chosen["logits"] = [positions[name] for name in columns]
    if "labels" in roles:
        chosen["labels"] = [positions[label_column(names, path)]]
    return chosen


def _lines(text: Iterator[str], others: Sequence[int], infinite: list[int]) -> Iterator[str]:
    """The lines that are not blank, and in `infinite` how often each says `inf`, but for other columns."""
    for line in _without_quotes(map(_without_odd_spaces, text)):
        infinite.append(_count_infinite(line.lower(), others) if "f" in line or "F" in line else 0)
        yield line


def _count_infinite(line: str, others: Sequence[int]) -> int:
    cells = line.split(",") if others else []
    return line.count("inf") - sum(cells[k].count("inf") for k in others if k < len(cells))


def _without_odd_spaces(line: str) -> str:
    """Spaces that are neither blanks nor tabs, which numpy would strip, are marked as not a part of a number."""
    plain = line.isascii() and not any(space in line for space in ODD_SPACES)
    return line if plain else re.sub(r"[^\S \t\r\n]", "\ufffd", line)


def _without_quotes(text: Iterator[str]) -> Iterator[str]:
    """Where cells are quoted, without quotes, and with spaces for commas in them. Blank lines are left out."""
    for line in text:
        if '"' in line:
            cells = next(csv.reader(chain([line], text), strict=True))
            yield ",".join(re.sub(r"[,\r\n]", " ", cell) or '""' for cell in cells)
        elif line.strip("\r\n"):
            yield line


def _types(columns: int, wanted: set[int]) -> np.dtype[Any]:
    """Floating point where it is wanted, and 8 bytes of the text elsewhere."""
    return np.dtype([(str(k), "f8" if k in wanted else "U2") for k in range(columns)])


def _numbers(
    lines: Iterable[str], types: np.dtype[Any], height: int, number: int, names: list[str], path: Path
) -> Array:
    """The next rows, one column per name."""
    try:
        rows = np.loadtxt(
            lines, types, comments=None, delimiter=",", max_rows=height, ndmin=1, encoding="utf-8", quotechar=None
        )
    except UnicodeDecodeError:
        raise
    except ValueError as error:
        raise TableError(f"{path} {_problem(str(error), number, names)}") from None
    return rows.view("f8").reshape(len(rows), len(names))


def _check_range(block: Array, infinite: Sequence[int], number: int, path: Path) -> None:
    """Numbers such as 1e400, which would be read as infinite, are refused."""
    odd = np.flatnonzero(np.isinf(block).sum(axis=1) != infinite)
    if odd.size:
        raise TableError(f"{path} has a number in row {number + odd[0]} (counted from 0) that float64 cannot hold")


def _problem(message: str, number: int, names: list[str]) -> str:
    if found := re.search(r"string (.+) to float64 at row (\d+), column (\d+)", message, re.DOTALL):
        row, name = number + int(found[2]), names[int(found[3]) - 1]
        return f"has {found[1]} in row {row} (counted from 0), column {name!r}; expected a number"
    if found := re.search(r"but (\d+) were found at row (\d+)", message):
        return f"has {found[1]} cells in row {number + int(found[2]) - 1} (counted from 0), and {len(names)} columns"
    return f"is not a readable csv file: {message}"


@contextmanager
def open_writer(path: Path) -> Iterator[Callable[[Columns], None]]:
    with open(path, "w", encoding="utf-8", newline="") as file:
        yield _writer(file)


@contextmanager
def stdout_writer() -> Iterator[Callable[[Columns], None]]:
    yield _writer(sys.stdout)
    sys.stdout.flush()


def _writer(file: IO[str]) -> Callable[[Columns], None]:
    """Rows are formatted at once, which is twice as fast as by `csv.writer`."""
    header = False

    def write(columns: Columns) -> None:
        nonlocal header
        if not header:
            file.write(",".join(columns) + "\n")
            header = True
        row = ",".join(_digits(column.dtype) for column in columns.values()) + "\n"
        file.write("".join(map(row.__mod__, zip(*map(_values, columns.values()), strict=True))))

    return write


def _digits(dtype: np.dtype[Any]) -> str:
    """Numbers have enough digits to be read back exactly."""
    return {"U": "%s", "i": "%d", "u": "%d"}.get(dtype.kind, "%.9g" if dtype.itemsize <= 4 else "%.17g")


def _values(column: Array) -> list[Any]:
    """Text is quoted where necessary."""
    if column.dtype.kind != "U":
        return column.tolist()  # type: ignore[no-any-return]
    return ['"{}"'.format(text.replace('"', '""')) if {*text} & {*',"\r\n'} else text for text in column.tolist()]
