"""A file of predictions that grows block by block and appears whole or not at all."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path

from slova.artifact import atomic_path
from slova.io import csv
from slova.io.blocks import Columns, TableError
from slova.io.formats import format_of

__all__ = ["created"]


@contextlib.contextmanager
def created(path: Path) -> Iterator[Callable[[Columns], None]]:
    """A function that writes blocks of columns to the file; "-" is csv on stdout. What the path held before stays
    until all went well."""
    if str(path) == "-":
        with csv.to_stdout() as write:
            yield write
        return
    writing = format_of(path).writing
    try:
        with atomic_path(path) as temporary:
            with writing(temporary) as write:
                yield write
            _sync(temporary)
    except OSError as error:  # reading gives TableErrors, so this one is of writing
        raise TableError(f"{path} cannot be written: {error.strerror or error}") from error


def _sync(path: Path) -> None:
    with open(path, "rb") as file:
        os.fsync(file.fileno())
