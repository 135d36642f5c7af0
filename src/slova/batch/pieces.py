"""Parquet files in pieces: row groups that one worker reads, a few megabytes at a time, knowing where they stand.

The order of pieces is that of the rows: files as they were given, those of a folder by name. Only the footers are read
here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from slova.batch.batches import Place, read_batch
from slova.io import Block, TableError
from slova.io.blocks import block_rows
from slova.io.parquet import LIST, columns_of, list_length, opened

__all__ = ["Parquet", "Piece", "Source"]

ROWS, CELLS = 1 << 20, 1 << 26  # of a piece, unless a row group has more

Source = str | Path | list[str | Path] | tuple[str | Path, ...]
"""A parquet file, a folder of them, or several of either."""


@dataclass(frozen=True)
class Piece:
    """Row groups of a file: the number of their first row there, how many rows they have, and how many come in the
    files before."""

    path: Path
    groups: tuple[int, ...]
    first: int
    rows: int
    before: int
    size: int | None

    def batches(self, classes: int, columns: Sequence[str] | None = None) -> Iterator[tuple[Place, Any]]:
        """All columns, or some of them, in batches that fit into memory."""
        row = self.first
        with opened(self.path) as file:
            for batch in file.iter_batches(block_rows(self.size, classes), self.groups, columns):
                yield Place(str(self.path), row), batch
                row += batch.num_rows

    def blocks(self, classes: int, *, labelled: bool) -> Iterator[tuple[int, Block]]:
        """Blocks with the number of their first row, counted over all files."""
        with opened(self.path) as file:
            columns = columns_of(file.schema_arrow, ("logits", "labels") if labelled else ("logits",), self.path)
        for place, batch in self.batches(classes, columns):
            yield self.before + place.first, read_batch(batch, classes=classes, labelled=labelled, place=place)


@dataclass(frozen=True)
class Parquet:
    """Files of the same columns, cut into pieces."""

    files: tuple[Path, ...]
    classes: int
    pieces: tuple[Piece, ...]

    @property
    def rows(self) -> int:
        return sum(piece.rows for piece in self.pieces)

    @classmethod
    def of(cls, source: Source, *, rows: int | None = None, size: int | None = None) -> Parquet:
        """`rows` is about how many a piece has, `size` how many a worker holds at a time."""
        files = _files(source)
        classes = _classes(files)
        pieces: list[Piece] = []
        for path in files:
            before = sum(piece.rows for piece in pieces)
            pieces += _pieces(path, before, rows or max(1, min(ROWS, CELLS // classes)), size)
        if not pieces:
            raise TableError(f"{files[0]} has no rows" if len(files) == 1 else f"none of {len(files)} files has rows")
        return cls(files, classes, tuple(pieces))


def _files(source: Source) -> tuple[Path, ...]:
    paths = [Path(source)] if isinstance(source, str | Path) else [Path(path) for path in source]
    files = [file for path in paths for file in (_inside(path) if path.is_dir() else [path])]
    if not files:
        raise TableError("wanted at least one parquet file, got none")
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


def _classes(files: Sequence[Path]) -> int:
    """The number of classes of the first file that has rows, once it is known that all have the same columns."""
    classes, first = 0, None
    for path in files:
        with opened(path) as file:
            columns = columns_of(file.schema_arrow, ("logits",), path)
            first = first or file.schema_arrow
            if not first.equals(file.schema_arrow):
                raise TableError(f"{path} has other columns than {files[0]}: {_described(file.schema_arrow, first)}")
            if not classes and file.metadata.num_rows:
                classes = list_length(file) if columns == [LIST] else len(columns)
    return max(1, classes)


def _described(schema: Any, first: Any) -> str:
    """The first column that differs."""
    ours, theirs = ([f"{field.name} ({field.type})" for field in each] for each in (schema, first))
    odd = next((pair for pair in zip(ours, theirs, strict=False) if pair[0] != pair[1]), None)
    return f"{odd[0]}, not {odd[1]}" if odd else f"{len(ours)} of them, not {len(theirs)}"


def _pieces(path: Path, before: int, rows: int, size: int | None) -> list[Piece]:
    with opened(path) as file:
        counts = [file.metadata.row_group(i).num_rows for i in range(file.metadata.num_row_groups)]
    pieces, groups, first = [], [], 0
    for group in range(len(counts)):
        groups.append(group)
        held = sum(counts[i] for i in groups)
        if held and (held >= rows or group == len(counts) - 1):
            pieces.append(Piece(path, tuple(groups), first, held, before, size))
            first, groups = first + held, []
    return pieces
