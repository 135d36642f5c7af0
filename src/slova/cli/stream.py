"""Rows of files that are never held in memory as a whole: read block by block in this process, or on an engine."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from pathlib import Path
from typing import Any, TypeVar

import click

from slova._progress import tracked
from slova.batch.batches import MapBlock
from slova.batch.engines import open_engine
from slova.batch.fitting import recognise, uncalibrated_scorer
from slova.batch.jobs import rows_of
from slova.batch.map_reduce import Rows, check_scorer, first_rows
from slova.batch.partitions import ParquetFiles
from slova.cli.terminal import in_options
from slova.io import Block, Table
from slova.scorer import Scorer

__all__ = ["Streamed", "check_engine_options", "columns_of", "open_rows", "scorer_for"]

State = TypeVar("State")


@dataclass(frozen=True)
class Streamed:
    """The rows of a file of any format, read in this process with a progress bar."""

    table: Table

    @property
    def classes(self) -> int:
        return self.table.classes()

    def fold(self, map_block: MapBlock[State], *, labelled: bool = True) -> State:
        return reduce(add, (map_block(block, first) for first, block in self._numbered(labelled)))

    def first(self, *, labelled: bool = True) -> Block:
        with contextlib.closing(replace(self.table, size=None).blocks(labelled=labelled)) as blocks:
            return first_rows(blocks)

    def _numbered(self, labelled: bool) -> Iterator[tuple[int, Block]]:
        first = 0
        for block in tracked(self.table.blocks(labelled=labelled), f"reading {self.table.path.name}"):
            yield first, block
            first += len(block.logits)


def columns_of(known: Scorer | None) -> int | None:
    """How many logits per row a model takes, so that files are compared with it before they are read."""
    return None if known is None else known.head.columns or known.classes


def scorer_for(rows: Rows, known: Scorer | None, head: str | None) -> Scorer:
    """The scorer of --model, or an uncalibrated one of --head; a head that is recognised is named on stderr."""
    if known is not None:
        check_scorer(rows, known)
        return known
    found = recognise(rows, head)
    if head in (None, "auto"):
        click.echo(f"slova: {found.head.name} head: {in_options(found.why)}", err=True)
    return uncalibrated_scorer(found.head, rows)


@contextlib.contextmanager
def open_rows(tables: Sequence[Table], engine: str | None, workers: int | None) -> Iterator[list[Rows]]:
    """The rows of each table, in this process or on an engine, which is started once the files have been checked."""
    if engine is None:
        check_engine_options(engine, *(table.path for table in tables), workers=workers)
        yield [Streamed(table) for table in tables]
        return
    sources = [_parquet(table) for table in tables]
    with open_engine(engine, workers) as run:
        yield [rows_of(source, run) for source in sources]


def check_engine_options(engine: str | None, *paths: Path, **options: Any) -> None:
    """Options without effect are errors; and so are folders, which only an engine reads."""
    for name, value in options.items():
        if engine is None and value:
            raise click.UsageError(f"--{name} requires --engine")
    for path in paths:
        if engine is None and path.is_dir():
            raise click.UsageError(f"{path} is a folder: for a folder of parquet files use --engine local")


def _parquet(table: Table) -> ParquetFiles:
    if table.labels is not None:
        raise click.UsageError("with --engine, labels must be in the same files, in a column `label`")
    return ParquetFiles.of(table.path, size=table.size, memory=table.memory)
