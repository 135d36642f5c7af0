"""The registry of file formats, keyed by suffix, and the output file: written block by block, and atomically."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from slova._atomic import atomic_path
from slova.io import arrays, csv, parquet
from slova.io.blocks import OpenWriter, Read, TableError

__all__ = ["FORMATS", "Format", "format_of", "open_output"]


class Format(NamedTuple):
    """The reader and the writer of a format."""

    read: Read
    open_writer: OpenWriter


FORMATS = {
    ".csv": Format(csv.read, csv.open_writer),
    ".npy": Format(arrays.read_npy, arrays.open_npy),
    ".npz": Format(arrays.read_npz, arrays.open_npz),
    ".parquet": Format(parquet.read, parquet.open_writer),
}


def format_of(path: Path) -> Format:
    found = FORMATS.get(path.suffix.lower())
    if found is None and path.is_dir():
        raise TableError(f"{path} is a folder; expected a file, one of {', '.join(FORMATS)}")
    if found is None:
        raise TableError(f"{path} has the suffix {path.suffix!r}; expected one of {', '.join(FORMATS)}")
    return found


@contextlib.contextmanager
def open_output(path: Path) -> Iterator[Callable[[Any], None]]:
    """Yield a function that writes blocks of columns to the file, to parquet also record batches; "-" is csv on stdout.
    An existing file is replaced only on success."""
    if str(path) == "-":
        with csv.stdout_writer() as write:
            yield write
        return
    open_writer = format_of(path).open_writer
    try:
        with atomic_path(path) as temporary:
            with open_writer(temporary) as write:
                yield write
            with open(temporary, "rb") as file:
                os.fsync(file.fileno())
    except OSError as error:  # errors of reading are TableErrors already
        raise TableError(f"{path} cannot be written: {error.strerror or error}") from error
