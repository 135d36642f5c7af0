"""Beta calibration (Kull, Silva Filho & Flach 2017): logit c(p) = a log p - b log(1 - p) + c, with a and b not
negative."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from slova._backend import NUMPY, Array, floating
from slova._types import Labels, LogProbRows, LogProbs, Weight
from slova.calibration.pairs import Pairs, Which

__all__ = ["BetaCalibration"]

FLOOR = -50.0  # of log p and log(1 - p), in fit and use: a probability of 0 or 1 would be an infinite feature


@dataclass(frozen=True)
class BetaCalibration:
    """Three numbers; `a` is positive, so that c(p) increases. a = b = 1, c = 0 changes nothing. Probabilities closer to
    0 or 1 than e^-50 are treated as e^-50 and 1 - e^-50, so c(0) > 0 and c(1) < 1.

    >>> np.exp(BetaCalibration(0.5, 0.5, 0.0)(np.log([0.1, 0.5, 0.99]))).round(3)
    array([0.25 , 0.5  , 0.909])
    """

    a: float
    b: float
    c: float

    name: ClassVar[str] = "beta"
    takes: ClassVar[str] = "log_probs"
    elementwise: ClassVar[bool] = True
    order_preserving: ClassVar[bool] = True

    def __post_init__(self) -> None:
        scalars = np.ndim(self.a) == np.ndim(self.b) == np.ndim(self.c) == 0
        if not (scalars and 0 < self.a < np.inf and 0 <= self.b < np.inf and np.isfinite(self.c)):
            raise ValueError(f"a, b and c must be finite with a > 0 and b >= 0, got {self.a}, {self.b} and {self.c}")
        for name in ("a", "b", "c"):
            object.__setattr__(self, name, float(getattr(self, name)))

    def __call__(self, log_probs: LogProbs) -> LogProbs:
        log_probs, ops = floating(log_probs, "log_probs")
        a, b, c = (ops.like(number, log_probs) for number in (self.a, self.b, self.c))
        others = ops.clip(ops.log1mexp(ops.clip(log_probs, None, 0.0)), FLOOR, None)
        return -ops.softplus(-(a * ops.clip(log_probs, FLOOR, 0.0) - b * others + c))

    @classmethod
    def fit(
        cls, log_probs: LogProbRows, labels: Labels, *, weight: Weight | None = None, which: Which = "all"
    ) -> BetaCalibration:
        """The a, b and c of maximum likelihood: logistic regression on (log p, -log(1 - p)), convex."""
        from scipy.optimize import minimize

        pairs = Pairs.of(log_probs, labels, which=which, weight=weight)
        features = np.stack(
            [np.maximum(pairs.log_p, FLOOR), -np.maximum(NUMPY.log1mexp(pairs.log_p), FLOOR), np.ones_like(pairs.log_p)]
        )
        found = minimize(
            _loss, np.array([1.0, 1.0, 0.0]), args=(features, pairs), jac=True, method="L-BFGS-B",
            bounds=[(1e-6, None), (0.0, None), (None, None)], options={"ftol": 1e-14, "gtol": 1e-9},
        )  # fmt: skip
        return cls(*found.x)


def _loss(numbers: Array, features: Array, pairs: Pairs) -> tuple[float, Array]:
    logit = numbers @ features
    surprise = pairs.count * NUMPY.softplus(logit) - pairs.hits * logit
    chance = np.exp(-NUMPY.softplus(-logit))
    return float(surprise.sum() / pairs.total), features @ (pairs.count * chance - pairs.hits) / pairs.total
