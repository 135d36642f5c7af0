"""npy files: an array is read in blocks of rows, predictions are written as a structured array."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.lib import format as npy_format

from slova._backend import Array
from slova.io.blocks import Block, Bounds, Columns, TableError, block_rows, check_type

__all__ = ["Header", "array_blocks", "block_height", "open_writer", "read", "read_header", "write_header"]

VERSIONS: dict[tuple[int, int], Callable[..., Any]] = {
    (1, 0): npy_format.read_array_header_1_0,
    (2, 0): npy_format.read_array_header_2_0,
}


class Header(NamedTuple):
    """The shape and type of an array, and the offset of its data in the file."""

    shape: tuple[int, ...]
    fortran: bool
    dtype: np.dtype[Any]
    offset: int

    @property
    def row_bytes(self) -> int:
        return math.prod(self.shape[1:]) * self.dtype.itemsize


def read(path: Path, roles: Sequence[str], bounds: Bounds) -> Iterator[Block]:
    """Blocks of the one array in the file. Labels must be in a second file."""
    if len(roles) != 1:
        raise TableError(f"{path} holds logits only: give the file of the labels with --labels")
    with open(path, "rb") as file:
        header = read_header(file, str(path), os.fstat(file.fileno()).st_size, roles[0])
        seen = 0
        for array in array_blocks(file, header, block_height(header, bounds, path), str(path)):
            seen += len(array)
            logits, labels = (array, None) if roles[0] == "logits" else (None, array)
            yield Block(logits, labels, seen / header.shape[0])


def read_header(stream: IO[bytes], name: str, size: int, role: str) -> Header:
    """The header, checked: the array is numeric, has the right number of axes, and is not longer than its file."""
    try:
        shape, fortran, dtype = VERSIONS[npy_format.read_magic(stream)](stream)
    except Exception:  # the header is a Python literal, and a damaged one can be anything
        raise TableError(f"{name} is not an npy array, or is damaged") from None
    if dtype.hasobject:
        raise TableError(f"{name} holds Python objects, which are never unpickled; expected an array of numbers")
    check_type(dtype, role, name.removesuffix(f": {role}"))
    shape = (*shape, 1) if role == "logits" and len(shape) == 1 else shape  # one column: a binary problem
    wanted = ("rows", "classes") if role == "logits" else ("rows",)
    if len(shape) != len(wanted):
        raise TableError(f"{name} has shape {shape}; {role} must have shape ({', '.join(wanted)})")
    header = Header(shape, fortran, dtype, stream.tell())
    if header.offset + math.prod(shape) * dtype.itemsize > size:
        raise TableError(f"{name} is truncated: its header declares shape {shape}, and the data end before that")
    return header


def block_height(header: Header, bounds: Bounds, path: Path) -> int:
    """The rows per block, checked by the header alone."""
    if len(header.shape) == 2:
        return bounds.rows(header.shape[1], path, header.dtype.itemsize)
    return block_rows(bounds.size, 1)


def array_blocks(stream: IO[bytes], header: Header, height: int, name: str) -> Iterator[Array]:
    """Blocks of rows in order. An array in Fortran order is memory-mapped, because its rows are not contiguous."""
    if 0 in header.shape:
        return iter(())
    return _mapped(stream, header, height) if header.fortran else _streamed(stream, header, height, name)


def _streamed(stream: IO[bytes], header: Header, height: int, name: str) -> Iterator[Array]:
    for first in range(0, header.shape[0], height):
        rows = min(height, header.shape[0] - first)
        content = stream.read(rows * header.row_bytes)
        if len(content) != rows * header.row_bytes:
            raise TableError(f"{name} is truncated in row {first + len(content) // header.row_bytes}")
        yield np.frombuffer(content, header.dtype).reshape(rows, *header.shape[1:])
    if stream.read(1):  # reading to the end of a zip member also verifies its checksum
        raise TableError(f"{name} is damaged: there is data after its {header.shape[0]} rows")


def _mapped(stream: IO[bytes], header: Header, height: int) -> Iterator[Array]:
    mapped = np.memmap(stream, header.dtype, "r", header.offset, header.shape, "F")
    for first in range(0, len(mapped), height):
        yield np.ascontiguousarray(mapped[first : first + height])


@contextmanager
def open_writer(path: Path) -> Iterator[Callable[[Columns], None]]:
    """A structured array with one field per column. The header is rewritten at the end, once the number of rows is
    known."""
    rows, dtype = 0, np.dtype([])
    with open(path, "wb") as file:

        def write(columns: Columns) -> None:
            nonlocal rows, dtype
            if not rows:
                dtype = np.dtype([(name, column.dtype) for name, column in columns.items()])
                write_header(file, (0,), dtype)
            records = np.empty(len(next(iter(columns.values()))), dtype)
            for name, column in columns.items():
                records[name] = column
            file.write(records.tobytes())
            rows += len(records)

        yield write
        file.seek(0)
        write_header(file, (rows,), dtype)


def write_header(file: IO[bytes], shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
    descr = npy_format.dtype_to_descr(dtype)
    npy_format.write_array_header_1_0(file, {"descr": descr, "fortran_order": False, "shape": shape})
