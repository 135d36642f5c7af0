"""Write a folder of parquet parts atomically.

Workers write parts into a hidden folder beside the output, each under a temporary name until it is complete. A part
written by two workers, because one was assumed dead, is kept once. Finally the folder is renamed.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from slova._atomic import abandoned, temporary_name
from slova.batch.engines import EngineError
from slova.io import open_output

__all__ = ["check_folder", "commit_folder", "part_name", "write_part"]

DONE = "_SUCCESS"  # as Hadoop and Spark call it
ASIDE = ".old"


def part_name(number: int) -> str:
    return f"part-{number:06d}.parquet"


@contextlib.contextmanager
def commit_folder(output: Path, parts: int, *, overwrite: bool = False) -> Iterator[Path]:
    """Yield a folder to write this many parts into. It replaces `output` on success."""
    _recover(output)
    check_folder(output, overwrite=overwrite)
    staging = temporary_name(output)
    staging.mkdir()
    try:
        yield staging
        _finish(staging, {part_name(number) for number in range(parts)})
        _replace_folder(staging, output)
    except OSError as error:
        raise EngineError(f"{output} cannot be written: {error.strerror or error}") from error
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def check_folder(output: Path, *, overwrite: bool, inputs: Iterable[Path] = (), option: str = "overwrite=True") -> None:
    """Check that the folder can be created. An existing one is replaced only with `overwrite`, and only if it contains
    nothing but the output of an earlier job; `option` is what the message calls it."""
    if not output.parent.is_dir():
        raise EngineError(f"{output} cannot be written: there is no folder {output.parent}")
    if not os.access(output.parent, os.W_OK):
        raise EngineError(f"{output} cannot be written: its folder is read-only")
    if any(output.resolve() in path.resolve().parents for path in inputs):
        raise EngineError(f"{output} contains an input and would be replaced")
    if not output.exists():
        return
    if not overwrite:
        raise EngineError(f"{output} already exists: remove it or pass {option}")
    if not output.is_dir() or not _is_output(output):
        raise EngineError(f"{output} is not a folder of scored parts and is not overwritten")


def write_part(staging: Path, number: int, batches: Iterable[Any]) -> None:
    """Write one part atomically, under a temporary name that is unique to the process."""
    with open_output(staging / part_name(number)) as write:
        for batch in batches:
            write(batch)


def _recover(output: Path) -> None:
    """Remove what killed jobs left. An output that such a job had set aside, and not yet replaced, comes back."""
    for aside in abandoned(output, f".part{ASIDE}"):
        if not output.exists():
            os.rename(aside, output)
        shutil.rmtree(aside, ignore_errors=True)
    for staging in abandoned(output):
        shutil.rmtree(staging, ignore_errors=True)


def _is_output(folder: Path) -> bool:
    names = {path.name for path in folder.iterdir()}
    return DONE in names and names - {DONE} == {part_name(number) for number in range(len(names) - 1)}


def _finish(staging: Path, expected: set[str]) -> None:
    """Check that all parts exist, and remove the leftovers of killed workers."""
    found = {path.name for path in staging.iterdir()}
    if expected - found:
        raise EngineError(
            f"{len(expected - found)} of {len(expected)} parts are missing, the first is {min(expected - found)}"
        )
    for name in found - expected:
        (staging / name).unlink(missing_ok=True)
    (staging / DONE).touch()


def _replace_folder(staging: Path, output: Path) -> None:
    """Rename the folder. An existing output is renamed first and removed afterwards."""
    aside = staging.with_name(f"{staging.name}{ASIDE}")
    replaced = output.exists()
    if replaced:
        os.rename(output, aside)
    try:
        os.rename(staging, output)
    except OSError:
        if replaced:
            os.rename(aside, output)
        raise
    shutil.rmtree(aside, ignore_errors=True)
