"""Statistics over seeds: mean, standard error, and the methods that are best or cannot be distinguished from the best.

A column is method -> seed -> value. Methods are compared by a two-sided paired t-test over seeds: at a seed they share
the data order and often the network, so an unpaired test would find ties that are none.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from slova_bench import labels
from slova_bench.frame import Column, Name
from slova_bench.tables.table import BEST, TIED

__all__ = [
    "ALPHA",
    "FEWEST",
    "Estimate",
    "at_common_seeds",
    "better",
    "estimate",
    "is_tied",
    "marks",
    "mean",
    "paired_p",
    "span",
]

ALPHA = 0.05
FEWEST = 3  # common seeds that a tie requires, and seeds that a best entry requires if any method has as many


class Estimate(NamedTuple):
    """Mean over seeds and its standard error, None with one seed."""

    mean: float
    error: float | None


def mean(values: Mapping[int, float]) -> float:
    return float(np.mean(list(values.values())))


def estimate(values: Mapping[int, float]) -> Estimate:
    from scipy.stats import sem

    numbers = np.array(list(values.values()))
    several = len(numbers) > 1 and bool(np.isfinite(numbers).all())
    return Estimate(mean(values), float(sem(numbers)) if several else None)


def span(counts: Collection[int]) -> str:
    """`3`, or `3 to 5`; empty without any."""
    return " to ".join(str(count) for count in sorted({min(counts), max(counts)})) if counts else ""


def at_common_seeds(column: Column, methods: Iterable[str]) -> Column:
    """The values of these methods at the seeds that all of those present have."""
    own = {name: column[name] for method in methods if (name := (method, "")) in column}
    seeds = set.intersection(*map(set, own.values())) if own else set[int]()
    return {name: {seed: values[seed] for seed in sorted(seeds)} for name, values in own.items()} if seeds else {}


def better(column: Column, one: Name, other: Name, metric: str) -> bool:
    """Whether a method has the better mean, and the seeds distinguish the two where three or more allow that."""
    return labels.is_better(metric, mean(column[one]), mean(column[other])) and not is_tied(column[one], column[other])


def marks(column: Mapping[Any, Mapping[int, float]], *, larger: bool) -> dict[Any, str]:
    """Mark the best mean, equal ones, and those not significantly worse at common seeds. Next to methods with three
    seeds or more, those with fewer are not marked."""
    enough = {name: values for name, values in column.items() if len(values) >= FEWEST} or column
    means = {name: value for name, values in enough.items() if not math.isnan(value := mean(values))}
    if len(means) < 2:
        return {}
    top = (max if larger else min)(means.values())
    best = next(name for name, value in means.items() if value == top)
    tied = {name: TIED for name in means if is_tied(column[best], column[name])}
    return tied | {name: BEST for name, value in means.items() if value == top}


def is_tied(one: Mapping[int, float], other: Mapping[int, float]) -> bool:
    """Whether values cannot be distinguished over their common seeds, at least three."""
    p = paired_p(one, other)
    return p is not None and p >= ALPHA


def paired_p(one: Mapping[int, float], other: Mapping[int, float]) -> float | None:
    """The two-sided p-value of a paired t-test over common seeds; None for fewer than three.

    >>> paired_p({0: 0.1, 1: 0.2, 2: 0.3}, {0: 0.1, 1: 0.2, 2: 0.3})
    1.0
    """
    from scipy.stats import ttest_1samp

    gaps = np.array([one[seed] - other[seed] for seed in sorted(one.keys() & other.keys())])
    if len(gaps) < FEWEST or not np.isfinite(gaps).all():
        return None
    return float(ttest_1samp(gaps, 0).pvalue) if np.ptp(gaps) else float(gaps[0] == 0)
