"""Parquet files divided into partitions: row groups that one worker reads, a few megabytes at a time.

Partitions are in the order of the rows: files as given, those of a folder sorted by name. Only footers are read here.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from slova.batch.batches import Location, read_batch
from slova.io import Block, TableError
from slova.io.blocks import MEMORY, Bounds
from slova.io.parquet import columns_of, declared_classes, declared_rows, open_parquet

__all__ = ["ParquetFiles", "Partition", "Source"]

ROWS, CELLS = 1 << 20, 1 << 26  # per partition, unless a row group has more

Source = str | Path | list[str | Path] | tuple[str | Path, ...]
"""A parquet file, a folder of them, or several of either."""


@dataclass(frozen=True)
class Partition:
    """Row groups of a file. `first` is their first row in the file, `rows` their number of rows, `before` the number of
    rows in the files before, and `size` the number of rows per batch."""

    path: Path
    groups: tuple[int, ...]
    first: int
    rows: int
    before: int
    size: int

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[tuple[Location, Any]]:
        """All or some columns, in batches of bounded size."""
        row = self.first
        with open_parquet(self.path) as file:
            for batch in file.iter_batches(self.size, self.groups, columns):
                yield Location(str(self.path), row), batch
                row += batch.num_rows

    def blocks(self, classes: int, *, labelled: bool) -> Iterator[tuple[int, Block]]:
        """Blocks with the number of their first row, counted over all files."""
        with open_parquet(self.path) as file:
            columns = columns_of(file.schema_arrow, ("logits", "labels") if labelled else ("logits",), self.path)
        for location, batch in self.batches(columns):
            yield self.before + location.first, read_batch(batch, classes=classes, labelled=labelled, location=location)


@dataclass(frozen=True)
class ParquetFiles:
    """Files with the same columns, divided into partitions."""

    files: tuple[Path, ...]
    classes: int
    partitions: tuple[Partition, ...]

    @property
    def rows(self) -> int:
        return sum(partition.rows for partition in self.partitions)

    @classmethod
    def of(
        cls, source: Source, *, rows: int | None = None, size: int | None = None, memory: int = MEMORY
    ) -> ParquetFiles:
        """`rows` is the approximate number of rows per partition, `size` the number per batch, and `memory` the most
        bytes that the logits of a batch may have."""
        files, classes, schema = _files(source), 0, None
        partitions: list[Partition] = []
        for path in files:
            with open_parquet(path) as file:
                columns_of(file.schema_arrow, ("logits",), path)
                schema = schema or file.schema_arrow
                if not schema.equals(file.schema_arrow):
                    difference = _difference(file.schema_arrow, schema)
                    raise TableError(f"{path} has other columns than {files[0]}: {difference}")
                if file.metadata.num_rows:
                    classes = classes or max(1, math.ceil(declared_classes(file, path)))
                    height = declared_rows(file, Bounds(size, classes, memory), path)
                    before = sum(partition.rows for partition in partitions)
                    held = rows or max(1, min(ROWS, CELLS // classes))
                    partitions += _partitions(file.metadata, held, Partition(path, (), 0, 0, before, height))
        if not partitions:
            raise TableError(f"{files[0]} has no rows" if len(files) == 1 else f"none of {len(files)} files has rows")
        return cls(files, classes, tuple(partitions))


def _files(source: Source) -> tuple[Path, ...]:
    paths = [Path(source)] if isinstance(source, str | Path) else [Path(path) for path in source]
    files = [file for path in paths for file in (_inside(path) if path.is_dir() else [path])]
    if not files:
        raise TableError("expected at least one parquet file, got none")
    for file in files:
        if file.suffix != ".parquet":
            raise TableError(
                f"{file} has the suffix {file.suffix!r}; an engine reads .parquet files and folders of them"
            )
    return tuple(files)


def _inside(folder: Path) -> list[Path]:
    files = sorted(path for path in folder.glob("*.parquet") if path.name[0] not in "._")
    if not files:
        raise TableError(f"{folder} has no parquet files")
    return files


def _difference(schema: Any, first: Any) -> str:
    """The first column in which two schemas differ."""
    ours, theirs = ([f"{field.name} ({field.type})" for field in each] for each in (schema, first))
    odd = next((pair for pair in zip(ours, theirs, strict=False) if pair[0] != pair[1]), None)
    return f"{odd[0]}, not {odd[1]}" if odd else f"{len(ours)} of them, not {len(theirs)}"


def _partitions(footer: Any, rows: int, empty: Partition) -> Iterator[Partition]:
    """Row groups in order, until they have this many rows."""
    partition = empty
    for group in range(footer.num_row_groups):
        held = partition.rows + footer.row_group(group).num_rows
        partition = replace(partition, groups=(*partition.groups, group), rows=held)
        if held and (held >= rows or group == footer.num_row_groups - 1):
            yield partition
            partition = replace(empty, first=partition.first + held)
