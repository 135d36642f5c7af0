"""Write a file of predictions block by block and atomically."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path

from slova.artifact import atomic_path
from slova.io import csv
from slova.io.blocks import Columns, TableError
from slova.io.formats import format_of

__all__ = ["open_output"]


@contextlib.contextmanager
def open_output(path: Path) -> Iterator[Callable[[Columns], None]]:
    """Yield a function that writes blocks of columns to the file; "-" is csv on stdout. An existing file is replaced
    only on success."""
    if str(path) == "-":
        with csv.stdout_writer() as write:
            yield write
        return
    open_writer = format_of(path).open_writer
    try:
        with atomic_path(path) as temporary:
            with open_writer(temporary) as write:
                yield write
            _sync(temporary)
    except OSError as error:  # errors of reading are TableErrors already
        raise TableError(f"{path} cannot be written: {error.strerror or error}") from error


def _sync(path: Path) -> None:
    with open(path, "rb") as file:
        os.fsync(file.fileno())
