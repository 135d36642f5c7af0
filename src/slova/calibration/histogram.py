"""Histogram binning (Zadrozny & Elkan 2001): each bin of probability gets the share of hits seen in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from slova._backend import Array, floating
from slova._types import BinValues, Edges, Labels, LogProbRows, LogProbs, Weight
from slova.calibration.pairs import Pairs, Which

__all__ = ["HistogramBinning"]


@dataclass(frozen=True, eq=False)
class HistogramBinning:
    """Interior edges between bins, closed on the left, and one probability per bin. All probabilities of a bin become
    ties, and bins may be out of order.

    >>> np.exp(HistogramBinning([0.5], [0.3, 0.8])(np.log([0.1, 0.5, 0.9]))).round(3)
    array([0.3, 0.8, 0.8])
    """

    edges: Edges
    values: BinValues

    name: ClassVar[str] = "histogram"
    takes: ClassVar[str] = "log_probs"
    elementwise: ClassVar[bool] = True
    order_preserving: ClassVar[bool] = False

    def __post_init__(self) -> None:
        edges, values = (np.asarray(numbers, np.float64).reshape(-1) for numbers in (self.edges, self.values))
        increasing = np.isfinite(edges).all() and (np.diff(edges) > 0).all()
        if len(values) != len(edges) + 1 or not (values.min() >= 0 and values.max() <= 1 and increasing):
            raise ValueError(f"edges must increase, with one more probability than edges, got {edges} and {values}")
        object.__setattr__(self, "edges", edges)
        object.__setattr__(self, "values", values)

    def __call__(self, log_probs: LogProbs) -> LogProbs:
        log_probs, ops = floating(log_probs, "log_probs")
        probs = ops.exp(log_probs)
        found = ops.like(self.values, log_probs)[ops.locate(ops.like(self.edges, log_probs), probs)]
        return ops.log(ops.where(probs == probs, found, probs))  # NaN is in no bin

    @classmethod
    def fit(
        cls,
        log_probs: LogProbRows,
        labels: Labels,
        *,
        weight: Weight | None = None,
        bins: int = 15,
        binning: Literal["mass", "width"] = "mass",
        which: Which = "all",
    ) -> HistogramBinning:
        """Bins of equal mass (equal probabilities stay together) or equal width; the value of an empty bin is its
        centre."""
        if bins < 1 or binning not in ("mass", "width"):
            raise ValueError(f"bins must be at least 1 and binning 'mass' or 'width', got {bins} and {binning!r}")
        probs, count, hits = Pairs.of(log_probs, labels, which=which, weight=weight).by_probability()
        edges = np.arange(1, bins) / bins if binning == "width" else _equal_mass(probs, count, bins)
        place = np.searchsorted(edges, probs, side="right")
        count, hits = (np.asarray(np.bincount(place, part, len(edges) + 1), np.float64) for part in (count, hits))
        ends = np.concatenate([[0.0], edges, [1.0]])
        return cls(edges, np.where(count > 0, hits / np.maximum(count, 1e-300), (ends[1:] + ends[:-1]) / 2))


def _equal_mass(probs: Array, count: Array, bins: int) -> Array:
    """Edges where each further share of the pairs begins, halfway to the probability before, so that rounding in
    another dtype moves no pair to another bin."""
    starts = np.cumsum(count) - count
    first = np.searchsorted(starts, np.arange(1, bins) / bins * count.sum() - 1e-9)
    first = first[first < len(probs)]
    return np.unique((probs[first - 1] + probs[first]) / 2)
