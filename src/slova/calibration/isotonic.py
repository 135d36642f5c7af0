"""Isotonic regression (Zadrozny & Elkan 2002): the best increasing map of (probability, hit) pairs, flat where the data
say nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from slova._backend import Array, floating
from slova.calibration.pairs import Pairs, Which

__all__ = ["IsotonicCalibration"]


@dataclass(frozen=True, eq=False)
class IsotonicCalibration:
    """Linear between increasing knots (probabilities), constant outside them. It ties what lies on a flat stretch, and
    can say 0 and 1."""

    knots: Array
    values: Array

    elementwise: ClassVar[bool] = True
    order_preserving: ClassVar[bool] = False

    def __post_init__(self) -> None:
        knots, values = (np.atleast_1d(np.asarray(numbers, np.float64)) for numbers in (self.knots, self.values))
        if knots.shape != values.shape or knots.ndim != 1 or not knots.size or not _increasing(knots, values):
            raise ValueError(f"wanted increasing knots and as many values that do not fall, got {knots} and {values}")
        if not (knots[0] >= 0 and knots[-1] <= 1 and values[0] >= 0 and values[-1] <= 1):
            raise ValueError(f"knots and values are probabilities, got {knots} and {values}")
        object.__setattr__(self, "knots", knots)
        object.__setattr__(self, "values", values)

    def __call__(self, log_probs: Array) -> Array:
        log_probs, ops = floating(log_probs, "log_probs")
        knots, values = ops.like(self.knots, log_probs), ops.like(self.values, log_probs)
        if len(knots) == 1:
            return ops.full(log_probs, 0.0) + ops.log(values[0])
        probs = ops.exp(log_probs)
        after = ops.clip(ops.locate(knots, probs), 1, len(knots) - 1)
        width = ops.clip(knots[after] - knots[after - 1], 1e-30, None)  # in float32 two knots can become one: no 0 / 0
        share = ops.clip((probs - knots[after - 1]) / width, 0.0, 1.0)
        return ops.log(values[after - 1] + share * (values[after] - values[after - 1]))

    @classmethod
    def fit(cls, log_probs: Array, labels: Array, *, which: Which = "all") -> IsotonicCalibration:
        """The increasing map of least squared error to the pairs."""
        from scipy.optimize import isotonic_regression

        pairs = Pairs.of(log_probs, labels, which=which)
        found = isotonic_regression(pairs.hits / pairs.count, weights=pairs.count)
        ends = np.unique(np.append(found.blocks[:-1], found.blocks[1:] - 1))
        knots = np.exp(pairs.log_p[ends])
        new = np.append(True, np.diff(knots) > 0)  # different logs can have the same probability
        return cls(knots[new], np.clip(found.x[ends][new], 0.0, 1.0))


def _increasing(knots: Array, values: Array) -> bool:
    return bool(np.all(np.diff(knots) > 0) and np.all(np.diff(values) >= 0))
