"""Ranks, Friedman's test and the Bonferroni-Dunn distance to a control (Demšar, JMLR 2006).

values and ranks (N, k): rows are cells (a test set, or a shift of it), columns are methods. Rank 1 is the best, and
methods that tie share the mean of their ranks.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["Distance", "Friedman", "bonferroni_dunn", "friedman", "ranks"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Friedman:
    """Chi-square (k - 1 degrees of freedom), Iman-Davenport's F (k - 1 and (k - 1)(N - 1)), and their p-values."""

    chi2: float
    p: float
    f: float
    f_p: float


@dataclass(frozen=True)
class Distance:
    """The critical-distance diagram: mean ranks, best first, and the critical distance to the control."""

    mean_ranks: dict[str, float]
    control: str
    cells: int
    alpha: float
    distance: float

    @property
    def alike(self) -> tuple[str, ...]:
        """The methods that are statistically indistinguishable from the control, best first."""
        middle = self.mean_ranks[self.control]
        near = (name for name, rank in self.mean_ranks.items() if abs(rank - middle) < self.distance)
        return tuple(name for name in near if name != self.control)


def bonferroni_dunn(mean_ranks: Mapping[str, float], cells: int, *, control: str, alpha: float = 0.05) -> Distance:
    """The distance z(1 - alpha / (2 (k - 1))) sqrt(k (k + 1) / (6 N)), with the exact quantile z.

    >>> round(bonferroni_dunn({"slova": 1.4, "acet": 2.1, "softmax": 2.5}, 12, control="slova").distance, 3)
    0.915
    """
    from scipy.special import ndtri

    k = len(mean_ranks)
    _check(cells, k)
    if control not in mean_ranks:
        raise ValueError(f"control must be one of {', '.join(mean_ranks)}, got {control!r}")
    if not 0 < alpha < 1:
        raise ValueError(f"alpha must lie in (0, 1), got {alpha}")
    distance = -float(ndtri(alpha / (2 * (k - 1)))) * math.sqrt(k * (k + 1) / (6 * cells))
    return Distance(dict(sorted(mean_ranks.items(), key=lambda item: item[1])), control, cells, alpha, distance)


def friedman(values: ArrayLike, *, ties: bool = True) -> Friedman:
    """Test whether k methods differ over N cells; `ties=False` omits the correction for ties, as in Demšar's formula.

    The direction does not matter. By hand, because scipy's requires three methods and has no F. Twice the ranks are
    integers, so unanimity (F infinite) is recognised exactly.
    """
    from scipy.special import chdtrc, fdtrc

    table = ranks(values)
    cells, k = table.shape
    centred = 2 * table - (k + 1)
    between = float((centred.sum(0) ** 2).sum())
    whole = cells * float((centred**2).sum() if ties else cells * k * (k * k - 1) // 3)
    agreement = between / whole if whole else 0.0  # Kendall's W; everything tied everywhere is no agreement
    chi2 = cells * (k - 1) * agreement
    f = (cells - 1) * between / (whole - between) if whole > between else (math.inf if whole else 0.0)
    return Friedman(chi2, float(chdtrc(k - 1, chi2)), f, float(fdtrc(k - 1, (k - 1) * (cells - 1), f)))


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
