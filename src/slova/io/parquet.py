"""parquet files, read and written by pyarrow (the extra `slova[parquet]`)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from slova._backend import Array
from slova.io.blocks import (
    CELLS,
    LABEL,
    Block,
    Bounds,
    Columns,
    TableError,
    block_rows,
    check_names,
    label_column,
    logit_columns,
)

__all__ = [
    "LIST",
    "columns_of",
    "declared_columns",
    "declared_rows",
    "labels_of",
    "logits_of",
    "open_parquet",
    "open_writer",
    "pyarrow",
    "read",
]

LIST = "logits"
BUFFER = 1 << 20  # bytes: pages are read on demand, not whole row groups


def read(path: Path, roles: Sequence[str], bounds: Bounds) -> Iterator[Block]:
    with open_parquet(path) as file:
        columns = columns_of(file.schema_arrow, roles, path)
        number, rows = 0, file.metadata.num_rows
        chosen = [name for name in columns if name != LABEL]
        height = declared_rows(file, chosen, bounds, path) if "logits" in roles else block_rows(bounds.size, 1)
        for batch in file.iter_batches(height, columns=columns):
            logits = logits_of(batch, chosen, path, number) if "logits" in roles else None
            number += batch.num_rows
            yield Block(logits, labels_of(batch, path) if "labels" in roles else None, number / rows)


@contextmanager
def open_parquet(path: Path) -> Iterator[Any]:
    """An open parquet file. Errors of pyarrow are raised as TableError."""
    arrow = pyarrow()
    with open(path, "rb"):  # distinguishes a missing file from a damaged one
        pass
    try:
        with arrow.parquet.ParquetFile(
            path, buffer_size=BUFFER, pre_buffer=False, page_checksum_verification=True
        ) as file:
            yield file
    except (arrow.ArrowException, OSError, UnicodeDecodeError, OverflowError) as error:
        raise TableError(f"{path} is not a readable parquet file: {error}") from error


def pyarrow() -> Any:
    """The module `pyarrow` with `pyarrow.parquet`, or an error that explains how to install it."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise TableError('a parquet file needs pyarrow: pip install "slova[parquet]"') from None
    return pyarrow


def columns_of(schema: Any, roles: Sequence[str], path: Path | str) -> list[str]:
    """The columns of the requested roles, logits first."""
    check_names(schema.names, path)
    columns = []
    if "logits" in roles:
        columns += (
            [LIST]
            if _has_list(schema)
            else logit_columns(schema.names, path, f"; a list column {LIST!r} is accepted as well")
        )
    if "labels" in roles:
        columns.append(label_column(schema.names, path))
    return columns


def _has_list(schema: Any) -> bool:
    if LIST not in schema.names:
        return False
    type = schema.field(LIST).type
    return hasattr(getattr(type, "storage_type", type), "value_type")


def declared_rows(file: Any, columns: list[str], bounds: Bounds, path: Path) -> int:
    """The rows per block, checked by the footer alone. It declares how many numbers a list column has, so lists that
    are longer on average than expected are refused unread; where they are few, reading them finds the row."""
    if columns != [LIST]:
        return bounds.rows(len(columns), path)
    numbers, longest = _list_lengths(file)
    if numbers > CELLS:
        bounds.check_classes(longest, path)
    return replace(bounds, classes=None).rows(math.ceil(longest), path)


def declared_columns(file: Any, columns: list[str]) -> int:
    """The number of logits per row, by the footer alone."""
    return math.ceil(_list_lengths(file)[1]) if columns == [LIST] else len(columns)


def _list_lengths(file: Any) -> tuple[int, float]:
    """The number of logits in a list column, and the most per row, on average in a row group."""
    groups = [file.metadata.row_group(i) for i in range(file.metadata.num_row_groups)]
    leaf = next(i for i in range(len(file.schema)) if file.schema.column(i).path.split(".")[0] == LIST)
    counts = [(group.column(leaf).num_values, group.num_rows) for group in groups if group.num_rows]
    return sum(values for values, _ in counts), max((values / rows for values, rows in counts), default=1.0)


def logits_of(batch: Any, columns: list[str], path: Path | str, number: int) -> Array:
    """The logits (n, K) of a batch; `number` is the row of the file at which it starts. A list column without nulls is
    not copied."""
    if columns == [LIST] and hasattr(_list(batch), "flatten"):
        return _list_logits(_list(batch), path, number)
    return np.stack([_numbers(batch.column(name), name, path) for name in columns], axis=1)


def _list(batch: Any) -> Any:
    """The list column, or the storage of a tensor column."""
    column = batch.column(LIST)
    return getattr(column, "storage", column)


def _list_logits(column: Any, path: Path | str, number: int) -> Array:
    if not len(column):
        return _numbers(column.flatten(), LIST, path).reshape(0, 0)
    lengths = np.array(column.value_lengths().fill_null(0))
    if (lengths != lengths[0]).any() or not lengths[0]:
        other = int(np.flatnonzero(lengths != lengths[0])[0]) if lengths[0] else 0
        raise TableError(
            f"{path} has {lengths[other]} logits in row {number + other} (counted from 0), expected {lengths[0] or 1}"
        )
    return _numbers(column.flatten(), LIST, path).reshape(len(lengths), lengths[0])


def _numbers(column: Any, name: str, path: Path | str) -> Array:
    """The column in floating point, with NaN for null."""
    values = np.asarray(column.to_numpy(zero_copy_only=False))
    if values.dtype.kind not in "fiu":
        raise TableError(f"{path} has the type {column.type} in column {name!r}; expected numbers")
    return values if values.dtype.kind == "f" else values.astype(np.float64)


def labels_of(batch: Any, path: Path | str) -> Array:
    column = batch.column(LABEL)
    values = np.asarray(column.to_numpy(zero_copy_only=False))
    return values if values.dtype.kind in "iu" else _numbers(column, LABEL, path)


@contextmanager
def open_writer(path: Path) -> Iterator[Callable[[Columns], None]]:
    arrow = pyarrow()
    with open(path, "wb") as file:
        writer: Any = None

        def write(columns: Columns) -> None:
            nonlocal writer
            table = arrow.table(dict(columns))
            writer = writer or arrow.parquet.ParquetWriter(file, table.schema, write_page_checksum=True)
            writer.write_table(table)

        try:
            yield write
        finally:
            if writer is not None:
                writer.close()
