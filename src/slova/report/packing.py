"""Histograms of confidence in few bytes: the reliability diagram, the densities, the risk-coverage curve and the reject
slider of the page are computed from them.

Of each: 100 counts, 100 errors (count - hits), and for each of 20 wider bins the mean confidence, in thousandths of the
bin's width. Small numbers take one byte, larger ones several (LEB128); all as base64.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

__all__ = ["BINS", "COARSE", "Histogram", "merge", "pack"]

BINS = 100
COARSE = 20  # bins of a reliability diagram, five of the hundred each
COLUMNS = ("count", "hits")
Ints = NDArray[np.int64]


class Histogram(Protocol):
    """Rows, hits and the sum of confidence in each of 100 bins of equal width, as `slova.metrics.Ece` has them."""

    @property
    def count(self) -> Any: ...
    @property
    def hits(self) -> Any: ...
    @property
    def total(self) -> Any: ...


def pack(histograms: Iterable[Sequence[Histogram]]) -> str:
    """One histogram after the other; each is merged from a sequence of them."""
    content = bytearray()
    for found in histograms:
        parts = merge(found)
        for part in (parts["count"], parts["count"] - parts["hits"], parts["middle"]):
            for number in part.tolist():
                _write(content, number)
    return base64.b64encode(bytes(content)).decode()


def merge(histograms: Sequence[Histogram]) -> Mapping[str, Ints]:
    """Counts and hits (100,) of all of them together, and the mean confidence within each of the wider bins (20,)."""
    count, hits = (np.array([getattr(one, name) for one in histograms], np.int64).sum(axis=0) for name in COLUMNS)
    total = np.array([histogram.total for histogram in histograms], np.float64).sum(axis=0)
    rows = count.reshape(COARSE, BINS // COARSE).sum(1)
    mean = total.reshape(COARSE, BINS // COARSE).sum(1) / np.maximum(rows, 1)
    middle = np.where(rows > 0, (mean * COARSE - np.arange(COARSE)) * 1000, 0)
    return {"count": count, "hits": hits, "middle": np.clip(middle.round(), 0, 1000).astype(np.int64)}


def _write(content: bytearray, number: int) -> None:
    while number > 127:
        content.append(number & 127 | 128)
        number >>= 7
    content.append(number)
