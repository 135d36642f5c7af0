"""Confidence histograms, one per cell: reliability, risk-coverage and the reject slider are drawn from them, without
the predictions.

A hundred bins of equal width, closed on the left; in each the number of rows, of correct ones, and the sum of their
confidence. While an experiment runs they are appended to a journal, one per line; closed, they are a small Parquet file
of whole numbers: rows, wrong ones, and the distance of the sum from that of bin centres, in hundredths.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow
from pyarrow import parquet

from slova._backend import Array
from slova.artifact import atomic_path
from slova.metrics.binning import BinCounts
from slova_bench.results import Cell, locked

__all__ = ["BINS", "Histogram", "Histograms"]

BINS = 100
PARTS = ("count", "wrong", "offset")
CENTRES = (np.arange(BINS) + 0.5) / BINS
UNITS = 100  # of an offset, per unit of confidence
INTEGERS = pyarrow.list_(pyarrow.int32())
# The bytes of integers are stored plane by plane, which compresses better.
PLANES = {f"{name}.list.element": "BYTE_STREAM_SPLIT" for name in PARTS}
COMPRESSION: dict[str, Any] = {
    "compression": "zstd",
    "compression_level": 19,
    "use_dictionary": list(Cell._fields),
    "column_encoding": PLANES,
}


class Histogram(NamedTuple):
    """The confidence of one method on one set: `bins` (3, 100) are rows, correct ones, and sums of confidence."""

    cell: Cell
    bins: Array

    @classmethod
    def of(cls, cell: Cell, confidence: Array, hits: Array) -> Histogram:
        found = BinCounts.binned(confidence, hits, BINS, "width")
        return cls(cell, np.array([found.count, found.hits, found.total.round(4)]))

    @property
    def key(self) -> tuple[Any, ...]:
        return self.cell.key


class Histograms:
    """The histograms of one experiment, beside its rows."""

    def __init__(self, rows: Path) -> None:
        self.path = rows.with_suffix(".parquet")
        self.journal = rows.with_name(f".{rows.stem}.histograms.jsonl")

    def append(self, histograms: Iterable[Histogram]) -> None:
        self.journal.parent.mkdir(parents=True, exist_ok=True)
        with locked(self.journal.parent), open(self.journal, "a") as file:
            file.write("".join(f"\n{json.dumps([h.cell, *h.bins.tolist()])}" for h in histograms))

    def read(self) -> list[Histogram]:
        """All histograms, those of an interrupted run too; an incomplete line is dropped: its cell was not finished."""
        with locked(self.path.parent):
            return self._read()

    def close(self) -> None:
        with locked(self.path.parent):
            histograms = sorted(self._read(), key=lambda histogram: [str(part) for part in histogram.key])
            if histograms:
                columns = {name: [h.cell[i] for h in histograms] for i, name in enumerate(Cell._fields)}
                parts = np.stack([_packed(h.bins) for h in histograms], axis=1).tolist()
                lists = {name: pyarrow.array(part, INTEGERS) for name, part in zip(PARTS, parts, strict=True)}
                with atomic_path(self.path) as temporary:
                    parquet.write_table(pyarrow.table(columns | lists), temporary, **COMPRESSION)
            self.journal.unlink(missing_ok=True)

    def _read(self) -> list[Histogram]:
        found = [*self._closed(), *self._journalled()]
        return list({histogram.key: histogram for histogram in found}.values())

    def _closed(self) -> Iterator[Histogram]:
        if self.path.exists():
            for row in parquet.read_table(self.path).to_pylist():
                cell = Cell(**{name: row[name] for name in Cell._fields})
                yield Histogram(cell, _unpacked(*(np.array(row[name]) for name in PARTS)))

    def _journalled(self) -> Iterator[Histogram]:
        for line in self.journal.read_text().splitlines() if self.journal.exists() else []:
            try:
                cell, *bins = json.loads(line)
            except ValueError:
                continue
            yield Histogram(Cell(*cell), np.array(bins))


def _packed(bins: Array) -> Array:
    count, hits, total = bins
    return np.array([count, count - hits, np.round((total - count * CENTRES) * UNITS)]).astype(int)


def _unpacked(count: Array, wrong: Array, offset: Array) -> Array:
    return np.array([count, count - wrong, (count * CENTRES + offset / UNITS).round(4)])
