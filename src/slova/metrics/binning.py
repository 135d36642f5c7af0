"""Counts of confidences and hits in B bins, and the two calibration errors computed from them.

binning="width": B bins [b/B, (b+1)/B), closed on the left, the last one closed at 1 as well: 0 falls in the first
bin, 1 in the last, an edge in the upper one. The float64 value decides (float32 0.7 lies below 7/10).

binning="mass": about N/B rows per bin, ties never split: n rows of equal confidence with r rows below them go to
bin floor(B (r + n/2) / N), that of their middle rank. Bins can therefore be empty.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from typing import Self

import numpy as np

from slova._mergeable import SUM
from slova._validation import Flags, Floats, Ints, check_bins

__all__ = ["BinCounts", "Counts", "bin_index", "mass_bins", "sums"]

Counts = Ints | Floats  # of rows; with weights, floating point


@dataclass(frozen=True, eq=False)
class BinCounts:
    """Rows, hits h, and the sums of confidence c and of (h - c)^2 per bin: (B,), or (K, B) by class."""

    count: Counts = field(metadata=SUM)
    hits: Counts = field(metadata=SUM)
    total: Floats = field(metadata=SUM)
    squares: Floats = field(metadata=SUM)

    @classmethod
    def binned(cls, confidence: Floats, hits: Flags, bins: int, binning: str) -> Self:
        index = bin_index(confidence, bins, binning)
        count, right = np.bincount(index, minlength=bins), np.bincount(index[hits], minlength=bins)
        total, squares = sums(index, confidence, bins), sums(index, np.square(hits - confidence), bins)
        return cls(count, right, total, squares)

    @classmethod
    def stacked(cls, classes: Iterable[BinCounts]) -> Self:
        columns = [[getattr(counts, f.name) for f in fields(BinCounts)] for counts in classes]
        return cls(*(np.stack(column) for column in zip(*columns, strict=True)))

    @property
    def value(self) -> float:
        """The ECE, sum_b (rows of b / N) |accuracy - mean confidence|; the mean over classes, if there are several."""
        return float((np.abs(self.hits - self.total).sum(axis=-1) / self.count.sum(axis=-1)).mean())

    @property
    def debiased(self) -> float:
        """The root of `debiased_square`, 0 where that is negative: an L2 error, not comparable with `value`."""
        return math.sqrt(max(self.debiased_square, 0.0))

    @property
    def debiased_square(self) -> float:
        """An unbiased estimate of sum_b P(b) E[h - c | b]^2: about zero for a calibrated classifier.

        The square of a bin's mean residual is positive however well calibrated the classifier is; the mean of d_i d_j
        over the pairs i != j of its rows, d = h - c, is not (Bröcker 2012; Kumar, Liang and Ma 2019, whose estimator
        this is where the confidence is constant in a bin; a U-statistic as in Widmann et al. 2019). A bin of one row
        has no pair and adds nothing.
        """
        pairs = np.square(self.hits - self.total) - self.squares
        per_bin = pairs / np.maximum(self.count - 1, 1)
        return float((per_bin.sum(axis=-1) / self.count.sum(axis=-1)).mean())


def bin_index(confidence: Floats, bins: int, binning: str) -> Ints:
    """The bin of each confidence, from 0; `binning` is "width" or "mass"."""
    if binning not in ("mass", "width"):
        raise ValueError(f"binning must be one of ['mass', 'width'], got {binning!r}")
    bins = check_bins(bins)
    if binning == "width":
        edges = np.arange(1, bins) / bins  # correctly rounded, so that the edge 3/5 is the number 0.6; linspace is not
        return np.searchsorted(edges, confidence, side="right")
    _, group, counts = np.unique(confidence, return_inverse=True, return_counts=True)
    return mass_bins(counts, bins)[group]


def mass_bins(counts: Counts, bins: int) -> Ints:
    """The bin of each group of `counts` tied rows, by increasing confidence, from their middle rank."""
    return np.asarray((2 * counts.cumsum() - counts) * bins // (2 * counts.sum()), dtype=np.int64)


def sums(index: Ints, weights: Floats, bins: int) -> Floats:
    """The sum of the weights in each of the bins."""
    return np.bincount(index, weights, minlength=bins).astype(np.float64, copy=False)
