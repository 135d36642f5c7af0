"""The reliability curve: accuracy by confidence in bins, with an interval for the accuracy.

Bins and hits are those of the top-label ECE (`slova.metrics.calibration_error`). Bins without rows are left out.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from slova._types import Labels, ProbRows
from slova._validation import Floats, Ints, top_class
from slova.metrics.binning import BinCounts, Counts, bin_index
from slova.metrics.calibration_error import Ece

__all__ = ["Reliability", "interval", "reliability"]


@dataclass(frozen=True, eq=False)
class Reliability:
    """One entry per bin that holds rows, by increasing confidence.

    lower, upper: the edges of a bin of equal width, the least and largest confidence of one of equal mass. low, high:
    the exact (Clopper-Pearson) interval, which covers the true accuracy of the bin with probability `level` or more.
    """

    lower: Floats
    upper: Floats
    count: Counts
    confidence: Floats
    accuracy: Floats
    low: Floats
    high: Floats

    @classmethod
    def of(cls, state: BinCounts, *, level: float = 0.95) -> Reliability:
        """The curve of bins of equal width; of a merged `Ece`, that of all its rows."""
        edges = np.arange(len(state.count) + 1) / len(state.count)
        return _curve(state, edges[:-1], edges[1:], level)


def reliability(
    probs: ProbRows, labels: Labels, *, bins: int = 15, binning: str = "width", level: float = 0.95
) -> Reliability:
    """Mean confidence and accuracy of each bin, with an interval for the accuracy.

    >>> probs, labels = np.array([[0.7, 0.3], [0.2, 0.8], [0.6, 0.4]]), np.array([0, 1, 1])
    >>> curve = reliability(probs, labels, bins=2)           # a Reliability
    >>> curve.count, curve.confidence.round(2), curve.accuracy.round(2), curve.low.round(2), curve.high.round(2)
    (array([3]), array([0.7]), array([0.67]), array([0.09]), array([0.99]))
    """
    if binning == "width":
        return Reliability.of(Ece.of(probs, labels, bins=bins), level=level)
    confidence, hits = top_class(probs, labels)
    index = bin_index(confidence, bins, binning)
    lower, upper = np.ones(bins), np.zeros(bins)
    np.minimum.at(lower, index, confidence)
    np.maximum.at(upper, index, confidence)
    return _curve(BinCounts.binned(confidence, hits, bins, binning), lower, upper, level)


def _curve(counts: BinCounts, lower: Floats, upper: Floats, level: float) -> Reliability:
    full = counts.count > 0
    count, hits, total = counts.count[full], counts.hits[full], counts.total[full]
    low, high = interval(hits, count, level=level)
    return Reliability(lower[full], upper[full], count, total / count, hits / count, low, high)


def interval(hits: Ints | Floats, count: Ints | Floats, *, level: float = 0.95) -> tuple[Floats, Floats]:
    """The exact (Clopper-Pearson) interval of hits / count. Both may be fractions, such as means over repetitions."""
    from scipy.special import betaincinv

    if not 0.0 < level < 1.0:
        raise ValueError(f"level must lie in (0, 1), got {level}")
    tail, misses = (1.0 - level) / 2.0, count - hits
    low = np.where(hits > 0, betaincinv(np.where(hits > 0, hits, 1), misses + 1, tail), 0.0)
    return low, np.where(misses > 0, betaincinv(hits + 1, np.where(misses > 0, misses, 1), 1.0 - tail), 1.0)
