"""Rows in files, for commands that never hold them all in memory: read here block by block, or on an engine."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any, TypeVar

import click

from slova.batch.batches import Of
from slova.batch.pieces import Parquet
from slova.batch.rows import Pieces, Rows
from slova.batch.running import opened
from slova.cli.terminal import tracked
from slova.io import Block, Table

__all__ = ["Streamed", "check_engine_options", "opened_rows"]

State = TypeVar("State")


@dataclass(frozen=True)
class Streamed:
    """A file of any format, in this process, with a bar that shows how far it is."""

    table: Table

    @property
    def classes(self) -> int:
        return self.table.classes()

    def fold(self, of: Of[State], *, labelled: bool = True) -> State:
        return reduce(add, (of(block, first) for first, block in self._numbered(labelled)))

    def _numbered(self, labelled: bool) -> Iterator[tuple[int, Block]]:
        first = 0
        for block in tracked(self.table.blocks(labelled=labelled), f"reading {self.table.path.name}"):
            yield first, block
            first += len(block.logits)


@contextlib.contextmanager
def opened_rows(tables: Sequence[Table], engine: str | None, workers: int | None) -> Iterator[list[Rows]]:
    """The rows of each table, in this process or on the engine that was asked for, which is started once the files are
    known to be there."""
    if engine is None:
        check_engine_options(engine, workers=workers)
        yield [Streamed(table) for table in tables]
        return
    sources = [_parquet(table) for table in tables]
    with opened(engine, workers) as run:
        yield [Pieces(source.pieces, source.classes, run) for source in sources]


def check_engine_options(engine: str | None, **options: Any) -> None:
    """An option that would have no effect without an engine is an error."""
    for name, value in options.items():
        if engine is None and value:
            raise click.UsageError(f"--{name} belongs to an --engine")


def _parquet(table: Table) -> Parquet:
    if table.labels is not None:
        raise click.UsageError("an --engine wants the labels in the same files, in a column `label`")
    return Parquet.of(table.path, size=table.size)
