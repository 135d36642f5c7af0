"""npz files, which are zip archives of npy files. Members are streamed, never loaded whole and never unpickled."""

from __future__ import annotations

import shutil
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO

from slova._backend import Array
from slova.io.blocks import Block, Bounds, Columns, TableError, check_names
from slova.io.npy import Header, array_blocks, block_height, read_header, write_header

__all__ = ["open_writer", "read"]

DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    NotImplementedError,  # unknown compression
    RuntimeError,  # encryption
    UnicodeDecodeError,
    OverflowError,
)
COPY = 1 << 20


def read(path: Path, roles: Sequence[str], bounds: Bounds) -> Iterator[Block]:
    """Blocks of the requested arrays."""
    try:
        with zipfile.ZipFile(path) as archive, ExitStack() as stack:
            members = {name: _member(archive, name, path, stack) for name in roles}
            rows = _common_length({name: header for name, (_, header) in members.items()}, path)
            height = block_height(next(iter(members.values()))[1], bounds, path)
            streams = [
                array_blocks(_seekable(stream, header, stack), header, height, f"{path}: {name}")
                for name, (stream, header) in members.items()
            ]
            for number, arrays in enumerate(zip(*streams, strict=True)):
                found: dict[str, Array] = dict(zip(roles, arrays, strict=True))
                yield Block(found.get("logits"), found.get("labels"), min(1.0, (number + 1) * height / rows))
    except DAMAGE as error:
        raise TableError(f"{path} is not an npz file, or is damaged: {error}") from error


def _member(archive: zipfile.ZipFile, name: str, path: Path, stack: ExitStack) -> tuple[IO[bytes], Header]:
    """A member, positioned at its data, and its header."""
    check_names(archive.namelist(), path)
    if f"{name}.npy" not in archive.namelist():
        there = ", ".join(repr(entry.removesuffix(".npy")) for entry in archive.namelist())
        raise TableError(f"{path} has no array {name!r}: found {there or 'none'}")
    info = archive.getinfo(f"{name}.npy")
    stream = stack.enter_context(archive.open(info))
    return stream, read_header(stream, f"{path}: {name}", info.file_size, name)


def _seekable(stream: IO[bytes], header: Header, stack: ExitStack) -> IO[bytes]:
    """An array in Fortran order is copied to an unnamed temporary file, which can be memory-mapped."""
    if not header.fortran:
        return stream
    copy = stack.enter_context(tempfile.TemporaryFile())  # noqa: SIM115
    copy.seek(header.offset)
    shutil.copyfileobj(stream, copy, COPY)
    copy.flush()
    return copy


def _common_length(headers: dict[str, Header], path: Path) -> int:
    lengths = {header.shape[0] for header in headers.values()}
    if len(lengths) > 1:
        raise TableError(
            f"{path}: " + " do not match ".join(f"{name} {header.shape}" for name, header in headers.items())
        )
    return lengths.pop()


@contextmanager
def open_writer(path: Path) -> Iterator[Callable[[Columns], None]]:
    """One array per column. Members of a zip are written one at a time, so columns are collected in temporary files."""
    with ExitStack() as stack:
        columns_on_disk: dict[str, IO[bytes]] = {}
        last: Columns = {}

        def write(columns: Columns) -> None:
            nonlocal last
            last = columns
            for name, column in columns.items():
                if name not in columns_on_disk:
                    columns_on_disk[name] = stack.enter_context(tempfile.TemporaryFile(dir=path.parent))
                columns_on_disk[name].write(column.tobytes())

        with open(path, "wb"):  # an unwritable path fails here and not at the end
            pass
        yield write
        _zip(path, columns_on_disk, last)


def _zip(path: Path, columns_on_disk: dict[str, IO[bytes]], last: Columns) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        for name, file in columns_on_disk.items():
            dtype = last[name].dtype
            with archive.open(zipfile.ZipInfo(f"{name}.npy"), "w", force_zip64=True) as member:
                write_header(member, (file.tell() // dtype.itemsize,), dtype)
                file.seek(0)
                shutil.copyfileobj(file, member, COPY)
            file.truncate(0)  # frees the space before the next column is copied
