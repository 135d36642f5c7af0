"""Drift of the confidence: all rows since the start, and a window of recent rows compared with the validation set.

Confidence is counted in 100 bins of equal width. Drift is the Kolmogorov-Smirnov distance between the window and the
validation set: the largest difference of their cumulative distributions at an edge of a bin, from 0 for equal
distributions to 1 for disjoint ones. For comparison, `chance` is its 95 % quantile for independent rows without drift.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from slova.export.file_metadata import BINS
from slova.heads import NONE
from slova.metrics.binning import bin_index

__all__ = ["WINDOW", "Drift", "DriftMonitor"]

WINDOW = 10_000
CHANCE_QUANTILE = math.sqrt(-math.log(0.05 / 2) / 2)  # 95 % quantile of the limiting Kolmogorov-Smirnov distribution
EMPTY = -1

Counts = np.ndarray[Any, Any]


class Drift(NamedTuple):
    """The distance, and the 95 % quantile of the distance without drift."""

    distance: float
    chance: float


class DriftMonitor:
    """Counts of all rows, and a ring buffer of the last `window` rows."""

    def __init__(self, validation: Counts | None = None, window: int = WINDOW) -> None:
        self.validation = validation
        self.rows = self.nones = 0
        self.counts, self.total = np.zeros(BINS, np.int64), 0.0
        self.recent = np.zeros(BINS, np.int64)
        self.recent_none_rows = 0
        self._bins, self._none = np.full(window, EMPTY, np.int8), np.zeros(window, bool)

    def add(self, confidence: Counts, label: Counts) -> None:
        """Count answered rows; a confidence of NaN counts as 0."""
        confidence, none = np.nan_to_num(confidence).astype(np.float64), label == NONE
        bins = bin_index(confidence, BINS, "width")
        self.counts += np.bincount(bins, minlength=BINS)
        self.total += float(confidence.sum())
        self._remember(bins[-len(self._bins) :], none[-len(self._bins) :], self.rows + len(bins))
        self.rows, self.nones = self.rows + len(bins), self.nones + int(none.sum())

    @property
    def seen(self) -> int:
        """The number of rows in the window."""
        return min(self.rows, len(self._bins))

    def drift(self) -> Drift | None:
        if self.validation is None or not self.seen:
            return None
        known = self.validation.sum()
        gap = self.recent.cumsum() / self.seen - self.validation.cumsum() / known
        return Drift(float(np.abs(gap).max()), CHANCE_QUANTILE * math.sqrt(1 / self.seen + 1 / known))

    def expected_none_share(self, reject: float) -> float | None:
        """The share of the validation set below `reject`, interpolated linearly within its bin."""
        if self.validation is None:
            return None
        edges = np.arange(BINS + 1) / BINS
        return float(np.interp(reject, edges, np.append(0, self.validation.cumsum())) / self.validation.sum())

    def _remember(self, bins: Counts, none: Counts, end: int) -> None:
        place = np.arange(end - len(bins), end) % len(self._bins)
        old = self._bins[place]
        self.recent -= np.bincount(old[old != EMPTY], minlength=BINS)
        self.recent += np.bincount(bins, minlength=BINS)
        self.recent_none_rows += int(none.sum()) - int(self._none[place].sum())
        self._bins[place], self._none[place] = bins, none
