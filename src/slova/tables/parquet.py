"""Columns in a parquet file, through pyarrow, which the extra `slova[parquet]` brings."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from slova.backend import Array
from slova.tables.blocks import LABEL, Block, Columns, TableError, block_rows, label_column, logit_columns

__all__ = ["read", "writing"]

LIST = "logits"
BUFFER = 1 << 20  # bytes: pages are read as they are needed, not a row group at once


def read(path: Path, want: Sequence[str], size: int | None) -> Iterator[Block]:
    arrow = _pyarrow()
    with open(path, "rb"):  # a missing file is told from a damaged one
        pass
    try:
        with arrow.parquet.ParquetFile(path, buffer_size=BUFFER, pre_buffer=False) as file:
            columns = _columns(file.schema_arrow, want, path)
            classes = _list_length(file, path) if LIST in columns else len(columns)
            number, rows = 0, file.metadata.num_rows
            for batch in file.iter_batches(block_rows(size, max(1, classes)), columns=columns):
                logits = (
                    _logits(batch, [name for name in columns if name != LABEL], path, number)
                    if "logits" in want
                    else None
                )
                number += batch.num_rows
                yield Block(logits, _labels(batch, path) if "labels" in want else None, number / rows)
    except (arrow.ArrowException, OSError) as error:
        raise TableError(f"{path} is not a readable parquet file: {error}") from error


def _pyarrow() -> Any:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise TableError('a parquet file needs pyarrow: pip install "slova[parquet]"') from None
    return pyarrow


def _columns(schema: Any, want: Sequence[str], path: Path) -> list[str]:
    columns = []
    if "logits" in want:
        numeric = [field.name for field in schema if np.dtype(_kind(field.type)).kind in "fiu"]
        columns += [LIST] if _has_list(schema) else logit_columns(schema.names, numeric, path)
    if "labels" in want:
        columns.append(label_column(schema.names, path))
    return columns


def _kind(type: Any) -> Any:
    try:
        return type.to_pandas_dtype()
    except NotImplementedError:
        return np.object_


def _has_list(schema: Any) -> bool:
    return LIST in schema.names and hasattr(schema.field(LIST).type, "value_type")


def _list_length(file: Any, path: Path) -> int:
    """The number of classes, by the first row of a list column."""
    for batch in file.iter_batches(1, columns=[LIST]):
        return max(1, len(batch.column(0)[0].as_py() or ()))
    return 1


def _logits(batch: Any, columns: list[str], path: Path, number: int) -> Array:
    if columns == [LIST] and hasattr(batch.column(LIST), "flatten"):
        return _list_logits(batch.column(LIST), path, number)
    return np.stack([_numbers(batch.column(name), name, path) for name in columns], axis=1)


def _list_logits(column: Any, path: Path, number: int) -> Array:
    lengths = np.array(column.value_lengths().fill_null(0))
    if (lengths != lengths[0]).any() or not lengths[0]:
        other = int(np.flatnonzero(lengths != lengths[0])[0]) if lengths[0] else 0
        raise TableError(
            f"{path} has {lengths[other]} logits in row {number + other} (counted from 0), wanted {lengths[0] or 1}"
        )
    return _numbers(column.flatten(), LIST, path).reshape(len(lengths), lengths[0])


def _numbers(column: Any, name: str, path: Path) -> Array:
    """As floating point, with NaN where a value is missing."""
    values = np.asarray(column.to_numpy(zero_copy_only=False))
    if values.dtype.kind not in "fiu":
        raise TableError(f"{path} has the type {column.type} in column {name!r}; wanted numbers")
    return values if values.dtype.kind == "f" else values.astype(np.float64)


def _labels(batch: Any, path: Path) -> Array:
    column = batch.column(LABEL)
    values = np.asarray(column.to_numpy(zero_copy_only=False))
    return values if values.dtype.kind in "iu" else _numbers(column, LABEL, path)


@contextmanager
def writing(path: Path) -> Iterator[Callable[[Columns], None]]:
    arrow = _pyarrow()
    with open(path, "wb") as file:
        writer: Any = None

        def write(columns: Columns) -> None:
            nonlocal writer
            table = arrow.table(dict(columns))
            writer = writer or arrow.parquet.ParquetWriter(file, table.schema)
            writer.write_table(table)

        try:
            yield write
        finally:
            if writer is not None:
                writer.close()
