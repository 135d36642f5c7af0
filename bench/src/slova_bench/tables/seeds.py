"""Numbers over seeds: mean, standard error, and which methods are best or cannot be told from the best.

A column is method -> seed -> value. Two methods are compared seed by seed (a paired t-test, two-sided): at a seed they
share data order and often the network itself, so a test that takes them for independent would find ties that are none.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from slova_bench.tables.table import BEST, TIED

__all__ = ["ALPHA", "FEWEST", "Column", "Estimate", "Name", "estimate", "marks", "paired_p"]

ALPHA = 0.05
FEWEST = 3  # seeds; with fewer in common no two methods are called tied, and with fewer none is called best

Name = tuple[str, str]  # a method and its variant
Column = Mapping[Name, Mapping[int, float]]


@dataclass(frozen=True)
class Estimate:
    """Mean over seeds; with one seed there is no standard error."""

    mean: float
    error: float | None
    seeds: int


def estimate(values: Mapping[int, float]) -> Estimate:
    numbers = np.array(list(values.values()))
    several = len(numbers) > 1 and bool(np.isfinite(numbers).all())
    error = float(numbers.std(ddof=1) / math.sqrt(len(numbers))) if several else None
    return Estimate(float(numbers.mean()), error, len(numbers))


def marks(column: Column, *, larger: bool) -> dict[Name, str]:
    """The best mean, equal ones too, and what is not significantly worse at the seeds in common. Beside methods with
    three seeds or more, those with fewer are not marked."""
    enough = {name: values for name, values in column.items() if len(values) >= FEWEST} or column
    means = {name: estimate(values).mean for name, values in enough.items()}
    means = {name: mean for name, mean in means.items() if not math.isnan(mean)}
    if len(means) < 2:
        return {}
    top = (max if larger else min)(means.values())
    best = next(name for name, mean in means.items() if mean == top)
    tied = {name: TIED for name in means if _is_tied(column[best], column[name])}
    return tied | {name: BEST for name, mean in means.items() if mean == top}


def _is_tied(one: Mapping[int, float], other: Mapping[int, float]) -> bool:
    p = paired_p(one, other)
    return p is not None and p >= ALPHA


def paired_p(one: Mapping[int, float], other: Mapping[int, float]) -> float | None:
    """The two-sided p-value of "no difference" at the seeds both have; None for fewer than three.

    >>> paired_p({0: 0.1, 1: 0.2, 2: 0.3}, {0: 0.1, 1: 0.2, 2: 0.3})
    1.0
    """
    from scipy.special import stdtr

    common = sorted(one.keys() & other.keys())
    gaps = np.array([one[seed] - other[seed] for seed in common])
    if len(gaps) < FEWEST or not np.isfinite(gaps).all():
        return None
    spread = float(gaps.std(ddof=1)) / math.sqrt(len(gaps))
    if spread == 0:
        return 1.0 if gaps[0] == 0 else 0.0
    return float(2 * stdtr(len(gaps) - 1, -abs(gaps.mean()) / spread))
