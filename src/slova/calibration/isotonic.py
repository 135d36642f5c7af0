"""Isotonic regression (Zadrozny & Elkan 2002): the best increasing function of (probability, hit) pairs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from slova._backend import floating
from slova._types import Labels, LogProbRows, LogProbs, Terms, Weight
from slova.calibration.pairs import Pairs, Which

__all__ = ["IsotonicCalibration"]


@dataclass(frozen=True, eq=False)
class IsotonicCalibration:
    """Linear between increasing knots (probabilities), constant outside them. Probabilities on a flat stretch become
    ties, and 0 and 1 can occur.

    >>> np.exp(IsotonicCalibration([0.2, 0.8], [0.1, 0.5])(np.log([0.1, 0.5, 0.9]))).round(3)
    array([0.1, 0.3, 0.5])
    """

    knots: Terms
    values: Terms

    name: ClassVar[str] = "isotonic"
    takes: ClassVar[str] = "log_probs"
    elementwise: ClassVar[bool] = True
    order_preserving: ClassVar[bool] = False

    def __post_init__(self) -> None:
        knots, values = (np.atleast_1d(np.asarray(numbers, np.float64)) for numbers in (self.knots, self.values))
        increasing = (np.diff(knots) > 0).all() and (np.diff(values) >= 0).all()
        if knots.shape != values.shape or knots.ndim != 1 or not knots.size or not increasing:
            raise ValueError(f"knots must increase and their values must not decrease, got {knots} and {values}")
        if not (knots[0] >= 0 and knots[-1] <= 1 and values[0] >= 0 and values[-1] <= 1):
            raise ValueError(f"knots and values must be probabilities, got {knots} and {values}")
        object.__setattr__(self, "knots", knots)
        object.__setattr__(self, "values", values)

    def __call__(self, log_probs: LogProbs) -> LogProbs:
        log_probs, ops = floating(log_probs, "log_probs")
        knots, values = ops.like(self.knots, log_probs), ops.like(self.values, log_probs)
        probs = ops.exp(log_probs)
        after = ops.locate(knots, probs)  # how many knots are at or below
        before, after = ops.clip(after - 1, 0, None), ops.clip(after, None, len(knots) - 1)
        width = ops.clip(knots[after] - knots[before], 1e-30, None)  # 0 beyond the ends
        share = ops.clip((probs - knots[before]) / width, 0.0, 1.0)
        found = values[before] + share * (values[after] - values[before])
        return ops.log(ops.where(probs == probs, found, probs))  # NaN stays NaN

    @classmethod
    def fit(
        cls, log_probs: LogProbRows, labels: Labels, *, weight: Weight | None = None, which: Which = "all"
    ) -> IsotonicCalibration:
        """The increasing function of least squared error to the pairs."""
        from scipy.optimize import isotonic_regression

        probs, count, hits = Pairs.of(log_probs, labels, which=which, weight=weight).by_probability()
        found = isotonic_regression(hits / count, weights=count)
        ends = np.unique(np.append(found.blocks[:-1], found.blocks[1:] - 1))
        return cls(probs[ends], np.clip(found.x[ends], 0.0, 1.0))
