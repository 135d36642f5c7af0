"""The formats by the suffixes of their files."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from slova.io import csv, npy, npz, parquet
from slova.io.blocks import Read, TableError, Writing

__all__ = ["FORMATS", "Format", "format_of"]


class Format(NamedTuple):
    read: Read
    writing: Writing


FORMATS = {
    ".csv": Format(csv.read, csv.writing),
    ".npy": Format(npy.read, npy.writing),
    ".npz": Format(npz.read, npz.writing),
    ".parquet": Format(parquet.read, parquet.writing),
}


def format_of(path: Path) -> Format:
    found = FORMATS.get(path.suffix.lower())
    if found is None:
        raise TableError(f"{path} has the suffix {path.suffix!r}; wanted one of {', '.join(FORMATS)}")
    return found
