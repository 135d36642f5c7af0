"""Columns as a Parquet file, written whole or not at all, and read back row by row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from slova.artifact import atomic_path

__all__ = ["load_table", "save_table"]


def save_table(path: Path, columns: Mapping[str, Sequence[object]]) -> None:
    import pyarrow
    import pyarrow.parquet

    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_path(path) as temporary:
        pyarrow.parquet.write_table(pyarrow.table(dict(columns)), temporary, compression="zstd")


def load_table(path: Path) -> list[dict[str, Any]]:
    import pyarrow.parquet

    return list(pyarrow.parquet.read_table(path).to_pylist())
