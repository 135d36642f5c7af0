"""Rows and histograms of the figures by method, in the order of every legend; means over seeds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from slova_bench import labels
from slova_bench.histograms import Histogram
from slova_bench.labels import Look
from slova_bench.results import Row
from slova_bench.results_folder import Plane

__all__ = ["Counts", "at_levels", "by_method", "over_seeds", "summed"]

T = TypeVar("T", Row, Plane, Histogram)


class Counts(NamedTuple):
    """Added histograms: per bin of confidence the predictions, the hits, and the sum of the confidence. `times` is the
    number of predictions per image."""

    answers: NDArray[np.float64]
    hits: NDArray[np.float64]
    total: NDArray[np.float64]
    times: int


def by_method(found: Iterable[T]) -> list[tuple[Look, list[T]]]:
    """Group by method and variant, with the appearance of each."""
    groups: dict[tuple[str, str], list[T]] = {}
    for one in found:
        owner = one.cell if isinstance(one, Histogram) else one
        variant = owner.preset if isinstance(owner, Plane) else owner.variant
        groups.setdefault((owner.method, variant), []).append(one)
    names = labels.ordered(method for method, _ in groups)
    order = sorted(groups, key=lambda key: (names.index(key[0]), key[1]))
    return [(labels.look(*key), groups[key]) for key in order]


def over_seeds(rows: Iterable[Row], metric: str) -> dict[tuple[str, str, float], float]:
    """The mean over seeds of one method, per set, shift and level."""
    cells: dict[tuple[str, str, float], list[float]] = {}
    for row in rows:
        if row.metric == metric:
            cells.setdefault((row.test, row.shift, row.level), []).append(row.value)
    return {cell: float(np.mean(values)) for cell, values in sorted(cells.items())}


def at_levels(rows: Iterable[Row], metric: str) -> dict[float, list[float]]:
    """The values of one method by level: one per set and shift, the mean over seeds."""
    levels: dict[float, list[float]] = {}
    for (_, _, level), value in over_seeds(rows, metric).items():
        levels.setdefault(level, []).append(value)
    return dict(sorted(levels.items()))


def summed(histograms: Sequence[Histogram]) -> Counts:
    """Add the histograms of several seeds or shifts."""
    parts = [np.array([one.count, one.hits, one.total], dtype=np.float64) for one in histograms]
    answers, hits, total = np.sum(parts, axis=0)
    return Counts(answers, hits, total, len(histograms))
