"""What calibrators are fitted to: (probability, hit) pairs of a validation set, and their moving averages (Sec. 3.6).

`log_probs` are (N, K), `labels` (N,) with NONE for rows that belong to no class. A row gives K pairs, (P(k), is k the
label?), or with `which="top"` only the pair of its most probable class.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from slova._backend import Array
from slova._types import Labels, LogProbRows, Weight
from slova._validation import check_rows, check_weight

__all__ = ["Pairs", "Which", "pair"]

Vector = NDArray[np.float64]
Which = Literal["all", "top"]


@dataclass(frozen=True)
class Pairs:
    """Pairs in order of probability, equal probabilities merged: log p, how many pairs have it, and how many of those
    are hits.

    >>> pairs = Pairs.of(np.log([[0.9, 0.1], [0.6, 0.4]]), np.array([0, 1]))
    >>> np.exp(pairs.log_p).round(1), pairs.hits
    (array([0.1, 0.4, 0.6, 0.9]), array([0., 1., 0., 1.]))
    """

    log_p: Vector
    count: Vector
    hits: Vector

    @classmethod
    def of(cls, log_probs: LogProbRows, labels: Labels, *, which: Which = "all", weight: Weight | None = None) -> Pairs:
        """The pairs of a validation set. `weight` (one number per row) is relative: it is scaled to the effective
        number of rows, (sum w)^2 / sum w^2, so that equal weights are like none."""
        log_probs, labels = check_rows(log_probs, labels)
        if weight is None:
            return cls.merge(*pair(log_probs, labels, which))
        weight = check_weight(weight, labels)
        weight = weight / weight.max()
        weight = weight * (weight.sum() / np.square(weight).sum())
        counts = weight > 0
        values, hits = pair(log_probs[counts], labels[counts], which)
        return cls.merge(values, hits, np.repeat(weight[counts], values.size // int(counts.sum())))

    @classmethod
    def merge(cls, log_p: Vector, hits: Array, count: Vector | None = None) -> Pairs:
        """Sort pairs and merge the equal ones, so that the order of the rows cannot matter."""
        order = np.argsort(log_p)
        log_p, hits = np.minimum(log_p[order], 0.0).astype(np.float64), hits[order].astype(np.float64)
        count = np.ones_like(log_p) if count is None else count[order]
        first = np.flatnonzero(np.append(True, log_p[1:] != log_p[:-1]))
        if len(first) == len(log_p):
            return cls(log_p, count, hits * count)
        return cls(log_p[first], np.add.reduceat(count, first), np.add.reduceat(hits * count, first))

    @property
    def total(self) -> float:
        return float(self.count.sum())

    def by_probability(self) -> tuple[Vector, Vector, Vector]:
        """Probability, count and hits, with pairs merged that float32 cannot distinguish: near 1 different logs are
        the same probability."""
        probs = np.exp(self.log_p)
        _, first = np.unique(probs.astype(np.float32), return_index=True)
        return probs[first], np.add.reduceat(self.count, first), np.add.reduceat(self.hits, first)

    def averages(self, *, window: float | None = None, points: int | None = 4000) -> tuple[Vector, Vector]:
        """Mean probability and share of hits in windows of `window` neighbouring pairs (a hundredth of all by default),
        at `points` equally spaced windows (None: at every one). Within equal probabilities the hits are spread
        evenly."""
        total = self.total
        window = max(1.0, total // 100) if window is None else float(window)
        if not 0 < window <= total:
            raise ValueError(f"the window must hold between 0 and {total:g} pairs, got {window:g}")
        if points is not None and points < 1:
            raise ValueError(f"points must be at least 1, got {points}")
        every = int(total - window) + 1
        start = np.linspace(0.0, total - window, every if points is None else min(points, every))
        ranks = np.append(0.0, np.cumsum(self.count))
        means = (self._between(ranks, values, start, window) for values in (self.count * np.exp(self.log_p), self.hits))
        probability, share = means
        return np.clip(probability, 0.0, 1.0), np.clip(share, 0.0, 1.0)

    @staticmethod
    def _between(ranks: Vector, values: Vector, start: Vector, window: float) -> Vector:
        sums = np.append(0.0, np.cumsum(values))
        return np.asarray((np.interp(start + window, ranks, sums) - np.interp(start, ranks, sums)) / window)


def pair(log_probs: NDArray[np.floating], labels: NDArray[np.int64], which: Which) -> tuple[Array, NDArray[np.bool_]]:
    """log p of each pair, and whether it is a hit."""
    if which == "top":
        top = log_probs.argmax(axis=1)
        return log_probs[np.arange(len(labels)), top], top == labels
    if which != "all":
        raise ValueError(f"which must be 'all' or 'top', got {which!r}")
    return log_probs.ravel(), (np.arange(log_probs.shape[1]) == labels[:, None]).ravel()
