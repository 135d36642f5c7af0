"""Exponential calibration, a sum of powers: c(p) = sum_i beta_i p^alpha_i  (Eq. 6), fitted to the moving averages of a
validation set."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from slova._backend import floating
from slova._types import Labels, LogProbRows, LogProbs, Terms, Weight
from slova.calibration.mixture import Mixture, Points, best_mixture
from slova.calibration.pairs import Pairs, Which

__all__ = ["ExponentialCalibration", "FitReport", "SmallValidationWarning", "smoothed"]

LEAST = 1e-30  # exponent, and one over the greatest: what float32 can hold
RARE = 50  # hits or misses below which a fit is rough: the share of the rarer is known to no better than 14 %


class SmallValidationWarning(UserWarning):
    """The validation set is too small for a reliable fit."""


@dataclass(frozen=True)
class FitReport:
    """How a fit ended: its mean squared error, a bound on how far that is above the optimum, the number of pairs and of
    hits (effective numbers where rows have weights)."""

    error: float
    gap: float
    pairs: float
    hits: float


@dataclass(frozen=True, eq=False)
class ExponentialCalibration:
    """c(p) = sum_i weights_i p^exponents_i, applied to each probability by itself; strictly increasing, c(0) = 0, c(1)
    = sum of the weights.

    >>> square_root = ExponentialCalibration([0.5], [1.0])
    >>> np.exp(square_root(np.log([0.25, 0.81]))).round(3)
    array([0.5, 0.9])
    """

    exponents: Terms
    weights: Terms
    report: FitReport | None = None

    name: ClassVar[str] = "exponential"
    takes: ClassVar[str] = "log_probs"
    elementwise: ClassVar[bool] = True
    order_preserving: ClassVar[bool] = True

    def __post_init__(self) -> None:
        exponents, weights = (
            np.atleast_1d(np.asarray(values, np.float64)) for values in (self.exponents, self.weights)
        )
        if exponents.shape != weights.shape or exponents.ndim != 1 or not exponents.size:
            raise ValueError(
                f"there must be as many weights as exponents, got shapes {weights.shape} and {exponents.shape}"
            )
        if not (exponents.min() >= LEAST and exponents.max() <= 1 / LEAST):
            raise ValueError(f"exponents must lie in [{LEAST:g}, {1 / LEAST:g}], got {exponents}")
        if not (weights.min() > 0 and weights.sum() <= 1 + 1e-6):
            raise ValueError(f"weights must be positive with a sum of at most 1, got {weights}")
        exponents, group = np.unique(exponents, return_inverse=True)
        object.__setattr__(self, "exponents", exponents)
        object.__setattr__(self, "weights", np.bincount(group, weights))
        if isinstance(self.report, dict):  # as it comes out of a file, where nan is null
            known = {name: np.nan if number is None else number for name, number in self.report.items()}
            object.__setattr__(self, "report", FitReport(**known))

    def __call__(self, log_probs: LogProbs) -> LogProbs:
        """log c = alpha_0 log p + log sum_i beta_i p^(alpha_i - alpha_0), with alpha_0 the least: no term overflows,
        and the first never vanishes."""
        log_probs, ops = floating(log_probs, "log_probs")
        least, weights = ops.like(self.exponents[0], log_probs), ops.like(self.weights, log_probs)
        excess = ops.like(self.exponents - self.exponents[0], log_probs)
        total = ops.full(log_probs, 0.0) + weights[0]
        for i in range(1, len(excess)):
            total = total + weights[i] * ops.exp(excess[i] * log_probs)
        return ops.clip(least * log_probs + ops.log(total), None, 0.0)

    @classmethod
    def fit(
        cls,
        log_probs: LogProbRows,
        labels: Labels,
        *,
        weight: Weight | None = None,
        which: Which = "all",
        at_most_one: bool = False,
    ) -> ExponentialCalibration:
        """The global optimum of the paper's objective: deterministic, few terms, its remaining gap in `.report`.

        `which`: all (row, class) pairs, or only the pair of each row's top class. `at_most_one`: c(1) may be less than
        one, which repairs rows that are wrong with a probability of one. NONE rows are misses of every class.
        """
        return cls.fit_pairs(Pairs.of(log_probs, labels, which=which, weight=weight), at_most_one=at_most_one)

    @classmethod
    def fit_pairs(
        cls,
        pairs: Pairs,
        *,
        at_most_one: bool = False,
        window: float | None = None,
        points: int | None = 4000,
    ) -> ExponentialCalibration:
        """The same from pairs, such as those of a `PairHistogram`; `window` and `points` of the moving averages as in
        `Pairs.averages`."""
        _warn_if_small(pairs)
        averages = smoothed(pairs, window=window, points=points)
        return cls.from_mixture(best_mixture(averages, at_most_one=at_most_one), pairs)

    @classmethod
    def from_mixture(cls, mixture: Mixture, pairs: Pairs) -> ExponentialCalibration:
        """The calibrator of a mixture that was fitted to these pairs."""
        used = np.isfinite(mixture.exponents) & (mixture.weights > 0)
        exponents, weights = mixture.exponents[used], mixture.weights[used]
        if not used.any():  # no hit at all: as if one more pair had been half a hit
            exponents, weights = np.ones(1), np.array([0.5 / (pairs.total + 1)])
        return cls(exponents, weights, FitReport(mixture.error, mixture.gap, pairs.total, float(pairs.hits.sum())))


def smoothed(pairs: Pairs, *, window: float | None = None, points: int | None = 4000) -> Points:
    """The moving averages as points to fit, all of the same weight."""
    probability, share = pairs.averages(window=window, points=points)
    with np.errstate(divide="ignore"):
        return Points(np.abs(np.log(probability)), share, np.full(len(share), 1 / len(share)))


def _warn_if_small(pairs: Pairs) -> None:
    hits, misses = float(pairs.hits.sum()), pairs.total - float(pairs.hits.sum())
    if min(hits, misses) < RARE:
        warnings.warn(
            f"{hits:g} hits and {misses:g} misses: calibration needs about {RARE} of each; expect a rough fit",
            SmallValidationWarning,
            stacklevel=3,
        )
