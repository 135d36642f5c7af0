"""The registry of file formats, keyed by suffix."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from slova.io import csv, npy, npz, parquet
from slova.io.blocks import OpenWriter, Read, TableError

__all__ = ["FORMATS", "Format", "format_of"]


class Format(NamedTuple):
    """The reader and the writer of a format."""

    read: Read
    open_writer: OpenWriter


FORMATS = {
    ".csv": Format(csv.read, csv.open_writer),
    ".npy": Format(npy.read, npy.open_writer),
    ".npz": Format(npz.read, npz.open_writer),
    ".parquet": Format(parquet.read, parquet.open_writer),
}


def format_of(path: Path) -> Format:
    found = FORMATS.get(path.suffix.lower())
    if found is None:
        raise TableError(f"{path} has the suffix {path.suffix!r}; expected one of {', '.join(FORMATS)}")
    return found
