"""parquet files, read and written by pyarrow (the extra `slova[parquet]`).

A file is read by `ParquetFile.iter_batches`: a scanner of `pyarrow.dataset` needs several times the memory.
"""

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
    ARRAYS,
    CELLS,
    LABELS,
    Block,
    Bounds,
    TableError,
    are_probs,
    check_names,
    find_kind,
    label_column,
    numbered_columns,
)

__all__ = ["block_of", "columns_of", "declared_classes", "declared_rows", "open_parquet", "open_writer", "read"]

BUFFER = 1 << 20  # bytes: pages are read on demand, not whole row groups
RATIO = 16  # the compression above which a row group is not trusted to be larger than the memory


def read(path: Path, roles: Sequence[str], bounds: Bounds) -> Iterator[Block]:
    with open_parquet(path) as file:
        columns, number = columns_of(file.schema_arrow, roles, path), 0
        height = declared_rows(file, bounds, path, roles)
        for batch in file.iter_batches(height, columns=columns):
            block = block_of(batch, roles, path, number)
            number += batch.num_rows
            yield block._replace(done=number / file.metadata.num_rows)


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
    """The columns of the requested roles, logits first. They are numbers by the schema, so that text is refused
    unread, which a small file can have any amount of."""
    check_names(schema.names, path)
    columns = []
    if "logits" in roles:
        also = "; a list column 'logits' or 'probs' is accepted as well"
        kind = find_kind(schema.names, lists := _lists(schema), path)
        columns += [kind] if kind in lists else numbered_columns(schema.names, kind, path, also)
    if "labels" in roles:
        columns.append(label_column(schema.names, path))
    for name in columns:
        _check_type(schema, name, path)
    return columns


def _check_type(schema: Any, name: str, path: Path | str) -> None:
    type, types = schema.field(name).type, pyarrow().types
    if name in _lists(schema):
        type = _storage(type).value_type
    if types.is_dictionary(type):
        type = type.value_type
    if not (types.is_integer(type) or types.is_floating(type) or types.is_null(type)):
        raise TableError(f"{path} has the type {type} in column {name!r}; expected numbers")


def _lists(schema: Any) -> list[str]:
    """The list columns of logits or probabilities."""
    return [name for name in ARRAYS if name in schema.names and _is_list(_storage(schema.field(name).type))]


def _is_list(type: Any) -> bool:
    types = pyarrow().types
    return bool(types.is_list(type) or types.is_large_list(type) or types.is_fixed_size_list(type))


def _list_of(schema: Any, path: Path | str) -> str | None:
    """The list column that is read, None where numbered columns are."""
    kind = find_kind(schema.names, lists := _lists(schema), path)
    return kind if kind in lists else None


def _storage(type: Any) -> Any:
    return getattr(type, "storage_type", type)  # of a tensor column


def declared_rows(file: Any, bounds: Bounds, path: Path, roles: Sequence[str] = ("logits",)) -> int:
    """The rows per block, checked by the footer alone. It declares how many numbers a list column has, so lists that
    are longer on average than expected are refused unread; where they are few, reading them finds the row."""
    longest = declared_classes(file, path) if "logits" in roles else 1
    if "logits" in roles and (_list_of(file.schema_arrow, path) is None or longest * file.metadata.num_rows > CELLS):
        bounds.check_classes(longest, path)
    height = replace(bounds, classes=None).rows(math.ceil(longest), path)
    _check_groups(file, bounds, path, roles)
    return height


def _check_groups(file: Any, bounds: Bounds, path: Path, roles: Sequence[str]) -> None:
    """A row group is read a page at a time, so it may be larger than the memory. But one page, or one list, may be all
    of it, so a group that is compressed to almost nothing may not."""
    leaves = _leaves(file, columns_of(file.schema_arrow, roles, path))
    of_list = {leaf: file.schema.column(leaf).max_repetition_level > 0 for leaf in leaves}
    for group in _groups(file):
        if group.total_byte_size <= bounds.memory and not any(of_list.values()):
            continue
        chunks = {leaf: group.column(leaf) for leaf in leaves}
        size = sum(max(c.total_uncompressed_size, 8 * c.num_values * of_list[leaf]) for leaf, c in chunks.items())
        stored = min(path.stat().st_size, sum(chunk.total_compressed_size for chunk in chunks.values()))
        if size > max(bounds.memory, RATIO * stored):
            raise TableError(
                f"{path} has a row group of {size >> 20} MiB that is compressed to {stored >> 10} KiB, more than "
                f"--max-memory, {bounds.memory >> 20} MiB: raise it, or write smaller row groups"
            )


def _leaves(file: Any, columns: Sequence[str]) -> list[int]:
    """The positions of columns in the footer, where the column of the numbers of a list has a longer name."""
    names, wanted = {*file.schema_arrow.names}, {*columns}
    paths = [file.schema.column(k).path for k in range(len(file.schema))]
    return [k for k, path in enumerate(paths) if (path if path in names else path.split(".")[0]) in wanted]


def _groups(file: Any) -> Iterator[Any]:
    return (file.metadata.row_group(k) for k in range(file.metadata.num_row_groups))


def declared_classes(file: Any, path: Path) -> float:
    """The logits per row, by the footer alone; of lists the most of a row group, on average over its rows."""
    if (name := _list_of(file.schema_arrow, path)) is None:
        return len(columns_of(file.schema_arrow, ("logits",), path))
    leaf = _leaves(file, [name])[0]
    groups = (group for group in _groups(file) if group.num_rows)
    return max((group.column(leaf).num_values / group.num_rows for group in groups), default=1.0)


def block_of(batch: Any, roles: Sequence[str], path: Path | str, number: int) -> Block:
    """The logits (n, K) and labels of a batch that starts at this row of the file. A list column without nulls is not
    copied."""
    columns, logits = columns_of(batch.schema, roles, path), None
    labels = _numbers(batch.column(columns.pop()), LABELS[0], path) if "labels" in roles else None
    if columns and columns[0] in ARRAYS:
        column = batch.column(columns[0])
        logits = _list_numbers(getattr(column, "storage", column), columns[0], path, number)
    elif columns:
        logits = np.stack([_floats(_numbers(batch.column(name), name, path)) for name in columns], axis=1)
    return Block(logits, labels, probs=columns[0] if columns and are_probs(columns[0]) else None)


def _list_numbers(column: Any, name: str, path: Path | str, number: int) -> Array:
    lengths = np.array(column.value_lengths().fill_null(0))
    if lengths.size and ((lengths != lengths[0]).any() or not lengths[0]):
        other = int(np.flatnonzero(lengths != lengths[0])[0]) if lengths[0] else 0
        raise TableError(
            f"{path} has {lengths[other]} {name} in row {number + other} (counted from 0), expected {lengths[0] or 1}"
        )
    return _floats(_numbers(column.flatten(), name, path)).reshape(len(lengths), lengths[0] if lengths.size else 0)


def _numbers(column: Any, name: str, path: Path | str) -> Array:
    """The column with NaN for null."""
    values = np.asarray(column.to_numpy(zero_copy_only=False))
    if values.dtype.kind not in "fiu":
        raise TableError(f"{path} has the type {column.type} in column {name!r}; expected numbers")
    return values


def _floats(values: Array) -> Array:
    return values if values.dtype.kind == "f" else values.astype(np.float64)


@contextmanager
def open_writer(path: Path) -> Iterator[Callable[[Any], None]]:
    """Blocks are columns of arrays, or record batches."""
    arrow = pyarrow()
    with open(path, "wb") as file:
        writer: Any = None

        def write(block: Any) -> None:
            nonlocal writer
            batch = block if isinstance(block, arrow.RecordBatch) else arrow.record_batch(dict(block))
            writer = writer or arrow.parquet.ParquetWriter(file, batch.schema, write_page_checksum=True)
            writer.write_batch(batch)

        try:
            yield write
        finally:
            if writer is not None:
                writer.close()
