"""Histograms of confidence as lists of whole numbers: the reliability diagram, the densities, the risk-coverage curve
and the reject slider of the page are computed from them.

Of each: 100 counts, 100 errors (count - hits), and for each of 20 wider bins the mean confidence, in thousandths of the
bin's width.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

__all__ = ["BINS", "COARSE", "bin_columns"]

BINS = 100
COARSE = 20  # bins of a reliability diagram, five of the hundred each


def bin_columns(histograms: Iterable[Sequence[Any]]) -> dict[str, list[list[int]]]:
    """Columns of the page, with a list per histogram. A histogram is its counts, hits and sums of confidence in each of
    100 bins of equal width, as `slova.metrics.Ece` has them."""
    columns: dict[str, list[list[int]]] = {"count": [], "errors": [], "middle": []}
    for parts in histograms:
        count, hits, total = (np.asarray(part, np.float64) for part in parts)
        for name, values in (("count", count), ("errors", count - hits), ("middle", _middle(count, total))):
            columns[name].append(values.round().astype(int).tolist())
    return columns


def _middle(count: Any, total: Any) -> Any:
    """The mean confidence within each of the wider bins; 0 in an empty one."""
    rows, sums = (part.reshape(COARSE, BINS // COARSE).sum(axis=1) for part in (count, total))
    places = (sums / np.maximum(rows, 1) * COARSE - np.arange(COARSE)) * 1000
    return np.where(rows > 0, places, 0).clip(0, 1000)
