"""Ranks, Friedman's test and the Bonferroni-Dunn distance to a control (Demšar, JMLR 2006).

values and ranks (N, k): rows are cells (a test set, or a shift of it), columns are methods. Rank 1 is the best, and
methods that tie share the mean of their ranks.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["Ranking", "bonferroni_dunn", "friedman", "ranking", "ranks"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Ranking:
    """Mean ranks, best first, the p-value of Friedman's test, and the critical distance to the control, which is valid
    only if the test rejects."""

    mean_ranks: dict[str, float]
    control: str
    cells: int
    alpha: float
    distance: float
    p: float

    @property
    def rejects(self) -> bool:
        """Whether "all methods are equal" is rejected."""
        return self.p < self.alpha

    @property
    def alike(self) -> tuple[str, ...]:
        """The methods that are statistically indistinguishable from the control, best first."""
        middle = self.mean_ranks[self.control]
        near = (name for name, rank in self.mean_ranks.items() if abs(rank - middle) < self.distance)
        return tuple(name for name in near if name != self.control)


def ranking(table: Floats, names: Sequence[str], *, control: str, alpha: float = 0.05) -> Ranking:
    """Compare methods by ranks (N, k), or by means of ranks over several metrics."""
    cells, k = table.shape
    means = sorted(zip(names, table.mean(0).tolist(), strict=True), key=lambda item: item[1])
    return Ranking(dict(means), control, cells, alpha, bonferroni_dunn(k, cells, alpha=alpha), friedman(table))


def bonferroni_dunn(k: int, cells: int, *, alpha: float = 0.05) -> float:
    """The distance z(1 - alpha / (2 (k - 1))) sqrt(k (k + 1) / (6 N)), with the exact quantile z.

    >>> round(bonferroni_dunn(3, 12), 3)
    0.915
    """
    from scipy.special import ndtri

    _check(cells, k)
    if not 0 < alpha < 1:
        raise ValueError(f"alpha must lie in (0, 1), got {alpha}")
    return -float(ndtri(alpha / (2 * (k - 1)))) * math.sqrt(k * (k + 1) / (6 * cells))


def friedman(values: ArrayLike) -> float:
    """The p-value of "k methods are equal over N cells", corrected for ties. The direction does not matter. By hand,
    because scipy's requires three methods, and is NaN where all of them tie everywhere."""
    from scipy.special import chdtrc

    table = ranks(values)
    cells, k = table.shape
    centred = 2 * table - (k + 1)
    between, whole = float((centred.sum(0) ** 2).sum()), cells * float((centred**2).sum())
    return float(chdtrc(k - 1, cells * (k - 1) * between / whole)) if whole else 1.0


def ranks(values: ArrayLike, *, larger: bool = False) -> Floats:
    """Ranks (N, k) of values (N, k) within each row. The smallest value is the best; with `larger` the largest.

    >>> ranks([[0.1, 0.3, 0.3], [0.2, 0.1, 0.4]]).tolist()
    [[1.0, 2.5, 2.5], [2.0, 1.0, 3.0]]
    """
    from scipy.stats import rankdata

    table = np.asarray(values, dtype=np.float64)
    if table.ndim != 2:
        raise ValueError(f"values must be (cells, methods), got {table.shape}")
    _check(*table.shape)
    if np.isnan(table).any():
        row, column = np.argwhere(np.isnan(table))[0]
        raise ValueError(f"values are NaN in cell {row} of method {column}: a missing value has no rank")
    return np.asarray(rankdata(-table if larger else table, axis=1))


def _check(cells: int, methods: int) -> None:
    if methods < 2:
        raise ValueError(f"a comparison needs at least 2 methods, got {methods}")
    if cells < 2:
        raise ValueError(f"a comparison needs at least 2 cells, got {cells}")
