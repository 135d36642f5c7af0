"""npy files, and npz files, which are zip archives of them. Arrays are streamed in blocks of rows, never loaded whole
and never unpickled. Predictions are written as a structured array (npy), or as one array per column (npz)."""

from __future__ import annotations

import io
import math
import os
import shutil
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.lib import format as npy_format

from slova._backend import Array
from slova.io.blocks import (
    LABELS,
    Block,
    Bounds,
    Columns,
    TableError,
    are_probs,
    check_names,
    check_type,
    find_kind,
)

__all__ = ["open_npy", "open_npz", "read_npy", "read_npz"]

HEADERS: dict[tuple[int, int], Callable[..., Any]] = {
    (1, 0): npy_format.read_array_header_1_0,
    (2, 0): npy_format.read_array_header_2_0,
}
LONGEST_HEADER, COPIED = 1 << 16, 1 << 20  # bytes: of a header, and at once
DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    NotImplementedError,  # unknown compression
    RuntimeError,  # encryption
    UnicodeDecodeError,
    OverflowError,
)


def read_npy(path: Path, roles: Sequence[str], bounds: Bounds) -> Iterator[Block]:
    """Blocks of the one array in the file. Labels must be in a second file."""
    if len(roles) != 1:
        raise TableError(f"{path} holds no labels: give the file of the labels with --labels")
    with open(path, "rb") as file:
        array = _declared(file, path, None, os.fstat(file.fileno()).st_size, roles[0])
        yield from _blocks({roles[0]: array}, bounds, path)


def read_npz(path: Path, roles: Sequence[str], bounds: Bounds) -> Iterator[Block]:
    """Blocks of the arrays `logits`, or `probs`, and `labels`."""
    try:
        with zipfile.ZipFile(path) as archive, ExitStack() as stack:
            check_names(archive.namelist(), path)
            yield from _blocks({role: _member(archive, role, path, stack) for role in roles}, bounds, path)
    except DAMAGE as error:
        raise TableError(f"{path} is not an npz file, or is damaged: {error}") from error


class _Declared(NamedTuple):
    """An array by its header; the stream is at its data."""

    stream: IO[bytes]
    name: str
    probs: str | None
    shape: tuple[int, ...]
    fortran: bool
    dtype: np.dtype[Any]

    def blocks(self, height: int) -> Iterator[Array]:
        """Blocks of rows in order. An array in Fortran order is memory-mapped, because its rows are not contiguous."""
        rows, width = self.shape[0], math.prod(self.shape[1:]) * self.dtype.itemsize
        if not rows * width:
            return
        if self.fortran:
            mapped = np.memmap(self.stream, self.dtype, "r", self.stream.tell(), self.shape, "F")
            yield from (np.ascontiguousarray(mapped[first : first + height]) for first in range(0, rows, height))
            return
        for first in range(0, rows, height):
            wanted = min(height, rows - first)
            content = self.stream.read(wanted * width)
            if len(content) != wanted * width:
                raise TableError(f"{self.name} is truncated in row {first + len(content) // width}")
            yield np.frombuffer(content, self.dtype).reshape(wanted, *self.shape[1:])
        self.check_end()

    def check_end(self) -> None:
        """Reading to the end of a zip member also verifies its checksum."""
        if self.stream.read(1):
            raise TableError(f"{self.name} is damaged: there is data after its {self.shape[0]} rows")


def _declared(stream: IO[bytes], path: Path, member: str | None, size: int, role: str) -> _Declared:
    """The header, checked: the array is numeric, has the right number of axes, and is not longer than its file."""
    name = str(path) if member is None else f"{path}: {member}"
    try:
        shape, fortran, dtype = _header(stream)
    except Exception:  # the header is a Python literal, and a damaged one can be anything
        raise TableError(f"{name} is not an npy array, or is damaged") from None
    if dtype.hasobject:
        raise TableError(f"{name} holds Python objects, which are never unpickled; expected an array of numbers")
    check_type(dtype, role, path, member)
    shape = (*shape, 1) if role == "logits" and len(shape) == 1 else shape  # one column: a binary problem
    wanted = ("rows", "classes") if role == "logits" else ("rows",)
    if len(shape) != len(wanted):
        raise TableError(f"{name} has shape {shape}; {member or role} must have shape ({', '.join(wanted)})")
    if stream.tell() + math.prod(shape) * dtype.itemsize > size:
        raise TableError(f"{name} is truncated: its header declares shape {shape}, and the data end before that")
    probs = member if role == "logits" and member is not None and are_probs(member) else None
    return _Declared(stream, name, probs, shape, fortran, dtype)


def _header(stream: IO[bytes]) -> Any:
    """The header, whose length is compared first: from version 2.0 on it may be up to 4 GB."""
    version = npy_format.read_magic(stream)
    length = stream.read(2 if version == (1, 0) else 4)
    if int.from_bytes(length, "little") > LONGEST_HEADER:
        raise ValueError("the header is too long")
    return HEADERS[version](io.BytesIO(length + stream.read(int.from_bytes(length, "little"))))


def _member(archive: zipfile.ZipFile, role: str, path: Path, stack: ExitStack) -> _Declared:
    """The array `logits`, or one of probabilities, or `labels`, which may be called `label` as in other files."""
    names = [entry.removesuffix(".npy") for entry in archive.namelist() if entry.endswith(".npy")]
    found = find_kind((), names, path) if role == "logits" else next((name for name in LABELS if name in names), None)
    if found is None:
        expected = "'logits' or 'probs'" if role == "logits" else repr(role)
        there = ", ".join(repr(entry.removesuffix(".npy")) for entry in archive.namelist())
        raise TableError(f"{path} has no array {expected}: found {there or 'none'}")
    info = archive.getinfo(f"{found}.npy")
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):  # others are decompressed without a limit
        raise TableError(f"{path}: {found} must be compressed by deflate or not at all, as numpy.savez_compressed does")
    return _declared(stack.enter_context(archive.open(info)), path, found, info.file_size, role)


def _blocks(arrays: Mapping[str, _Declared], bounds: Bounds, path: Path) -> Iterator[Block]:
    """The arrays side by side. What they declare is checked before any is read."""
    if len({array.shape[0] for array in arrays.values()}) > 1:
        raise TableError(f"{path}: " + " do not match ".join(f"{role} {array.shape}" for role, array in arrays.items()))
    first = next(iter(arrays.values()))
    wide = len(first.shape) > 1
    height = bounds.rows(first.shape[1], path, first.dtype.itemsize) if wide else bounds.few_rows(1)
    with ExitStack() as stack:
        parts = [_mappable(array, bounds, stack).blocks(height) for array in arrays.values()]
        for number, found in enumerate(zip(*parts, strict=True)):
            block = dict(zip(arrays, found, strict=True))
            done = min(1.0, (number + 1) * height / first.shape[0])
            yield Block(block.get("logits"), block.get("labels"), done, first.probs)


def _mappable(array: _Declared, bounds: Bounds, stack: ExitStack) -> _Declared:
    """A member in Fortran order is copied to an unnamed temporary file, which can be memory-mapped."""
    if not array.fortran or not isinstance(array.stream, zipfile.ZipExtFile):
        return array
    size = math.prod(array.shape) * array.dtype.itemsize
    if size > bounds.memory:
        raise TableError(
            f"{array.name} is in Fortran order: its copy of {size >> 20} MiB is more than --max-memory, "
            f"{bounds.memory >> 20} MiB; raise it, or save numpy.ascontiguousarray of it"
        )
    copy: IO[bytes] = stack.enter_context(tempfile.TemporaryFile())  # noqa: SIM115
    for first in range(0, size, COPIED):
        copy.write(array.stream.read(min(COPIED, size - first)))
    if copy.tell() != size:
        raise TableError(f"{array.name} is truncated")
    array.check_end()
    copy.seek(0)
    return array._replace(stream=copy)


@contextmanager
def open_npy(path: Path) -> Iterator[Callable[[Columns], None]]:
    with open(path, "wb") as file, _growing(file) as append:

        def write(columns: Columns) -> None:
            records = np.empty(
                len(next(iter(columns.values()))), [(name, column.dtype) for name, column in columns.items()]
            )
            for name, column in columns.items():
                records[name] = column
            append(records)

        yield write


@contextmanager
def open_npz(path: Path) -> Iterator[Callable[[Columns], None]]:
    """Members of a zip are written one at a time, so columns are collected in unnamed temporary files."""
    with zipfile.ZipFile(path, "w") as archive, ExitStack() as files:
        parts: dict[str, IO[bytes]] = {}
        with ExitStack() as growing:
            appends: dict[str, Callable[[Array], None]] = {}

            def write(columns: Columns) -> None:
                for name, column in columns.items():
                    if name not in parts:
                        parts[name] = files.enter_context(tempfile.TemporaryFile(dir=path.parent))
                        appends[name] = growing.enter_context(_growing(parts[name]))
                    appends[name](column)

            yield write
        for name, file in parts.items():
            file.seek(0)
            with archive.open(zipfile.ZipInfo(f"{name}.npy"), "w", force_zip64=True) as member:
                shutil.copyfileobj(file, member)
            file.truncate(0)  # frees the space before the next column is copied


@contextmanager
def _growing(file: IO[bytes]) -> Iterator[Callable[[Array], None]]:
    """Append arrays to an npy file. Its header is rewritten at the end, once the number of rows is known."""
    rows, dtype = 0, np.dtype([])

    def append(array: Array) -> None:
        nonlocal rows, dtype
        if not rows:
            dtype = array.dtype
            header()
        file.write(array.tobytes())
        rows += len(array)

    def header() -> None:
        about = {"descr": npy_format.dtype_to_descr(dtype), "fortran_order": False, "shape": (rows,)}
        npy_format.write_array_header_1_0(file, about)

    yield append
    file.seek(0)
    header()
