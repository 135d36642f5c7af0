"""A folder of parquet parts that appears whole or not at all.

Workers write parts into a hidden folder beside the wanted one, each under a name of its own until it is whole; so a
part that two workers made, because one was thought dead, is there once. At the end the folder gets its name.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from slova.batch.running import EngineError
from slova.io.parquet import pyarrow

__all__ = ["check_folder", "committed", "part_name", "write_part"]

DONE = "_SUCCESS"  # as Hadoop and Spark call it


def part_name(number: int) -> str:
    return f"part-{number:06d}.parquet"


@contextlib.contextmanager
def committed(output: Path, parts: int, *, overwrite: bool = False) -> Iterator[Path]:
    """A folder to write this many parts into; it takes the place of `output` when the block ends well."""
    check_folder(output, overwrite=overwrite)
    staging = output.with_name(f".{output.name}.{secrets.token_hex(4)}.part")
    staging.mkdir()
    try:
        yield staging
        _tidy(staging, {part_name(number) for number in range(parts)})
        _take_place(staging, output)
    except OSError as error:
        raise EngineError(f"{output} cannot be written: {error.strerror or error}") from error
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def check_folder(output: Path, *, overwrite: bool, inputs: Iterable[Path] = ()) -> None:
    """The folder can be made; one that is there is replaced only if asked for, and only if nothing is in it but what a
    job like this one wrote."""
    if not output.parent.is_dir():
        raise EngineError(f"{output} cannot be written: there is no folder {output.parent}")
    if not os.access(output.parent, os.W_OK):
        raise EngineError(f"{output} cannot be written: its folder is read-only")
    if any(output.resolve() in path.resolve().parents for path in inputs):
        raise EngineError(f"{output} holds an input, and would be replaced")
    if not output.exists():
        return
    if not overwrite:
        raise EngineError(f"{output} is already there: remove it, or ask to overwrite it")
    if not output.is_dir() or not _is_ours(output):
        raise EngineError(f"{output} is not a folder of scored parts, and is not overwritten")


def write_part(staging: Path, number: int, batches: Iterable[Any]) -> None:
    """One part, whole or not at all. Until then its name also says which process writes it."""
    path = staging / part_name(number)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
    try:
        with open(temporary, "wb") as file:
            _write(file, batches)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    finally:
        with contextlib.suppress(FileNotFoundError):
            temporary.unlink()


def _write(file: Any, batches: Iterable[Any]) -> None:
    writer: Any = None
    try:
        for batch in batches:
            writer = writer or pyarrow().parquet.ParquetWriter(file, batch.schema)
            writer.write_batch(batch)
    finally:
        if writer is not None:
            writer.close()


def _is_ours(folder: Path) -> bool:
    names = {path.name for path in folder.iterdir()}
    return DONE in names and names - {DONE} == {part_name(number) for number in range(len(names) - 1)}


def _tidy(staging: Path, wanted: set[str]) -> None:
    """All parts are there, and what a killed worker left behind is not."""
    there = {path.name for path in staging.iterdir()}
    if wanted - there:
        raise EngineError(
            f"{len(wanted - there)} of {len(wanted)} parts are missing, the first is {min(wanted - there)}"
        )
    for name in there - wanted:
        (staging / name).unlink(missing_ok=True)
    (staging / DONE).touch()


def _take_place(staging: Path, output: Path) -> None:
    """A rename, and if there is an old folder two: between them it goes by another name."""
    aside = staging.with_name(f"{staging.name}.old")
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
