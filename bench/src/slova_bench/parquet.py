"""Columns as a Parquet file, written whole or not at all, and read back row by row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from slova.artifact import atomic_path

__all__ = ["load_table", "save_table"]


def save_table(path: Path, columns: Mapping[str, Sequence[object]], *, lists: Sequence[str] = ()) -> None:
    """`lists` are columns of lists of whole numbers below 2^31; their bytes are stored plane by plane, which compresses
    better."""
    import pyarrow
    import pyarrow.parquet

    path.parent.mkdir(parents=True, exist_ok=True)
    kind = pyarrow.list_(pyarrow.int32())
    table = {name: pyarrow.array(values, kind) if name in lists else values for name, values in columns.items()}
    planes = {f"{name}.list.element": "BYTE_STREAM_SPLIT" for name in lists}
    others = [name for name in columns if name not in lists]
    how = {"compression": "zstd", "compression_level": 19, "use_dictionary": others, "column_encoding": planes or None}
    with atomic_path(path) as temporary:
        pyarrow.parquet.write_table(pyarrow.table(table), temporary, **how)


def load_table(path: Path) -> list[dict[str, Any]]:
    import pyarrow.parquet

    return list(pyarrow.parquet.read_table(path).to_pylist())
