"""Exponential calibration, a sum of powers: c(p) = sum_i beta_i p^alpha_i  (Eq. 5), fitted to the moving averages of a
validation set."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from slova_bench.paper_fit import paper_mixture

from slova._backend import Array, floating
from slova.calibration.likelihood import best_likelihood
from slova.calibration.mixture import LOG_EXPONENTS, Mixture, Points, best_mixture
from slova.calibration.pairs import Pairs, Which, check_rows, check_weight
from slova.heads import NONE

__all__ = ["ExponentialCalibration", "FitReport", "Loss", "SmallValidationWarning", "smoothed"]

Loss = Literal["squared", "likelihood"]
STEEPEST = np.exp(LOG_EXPONENTS[1])
LEAST = 1e-30  # exponent, and one over the greatest: what float32 can hold
RARE = 50  # hits or misses below which a map is guesswork: the share of the rarer is known to no better than 14 %


class SmallValidationWarning(UserWarning):
    """The validation set is too small for the question asked of it."""


@dataclass(frozen=True)
class FitReport:
    """How a fit ended: its error (mean squared, or -mean log-likelihood), a bound on how far that is above the optimum,
    the pairs it saw."""

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

    exponents: Array
    weights: Array
    report: FitReport | None = None

    elementwise: ClassVar[bool] = True
    order_preserving: ClassVar[bool] = True

    def __post_init__(self) -> None:
        exponents, weights = (
            np.atleast_1d(np.asarray(values, np.float64)) for values in (self.exponents, self.weights)
        )
        if exponents.shape != weights.shape or exponents.ndim != 1 or not exponents.size:
            raise ValueError(f"wanted as many weights as exponents, got shapes {weights.shape} and {exponents.shape}")
        if not (exponents.min() >= LEAST and exponents.max() <= 1 / LEAST):
            raise ValueError(f"wanted exponents from {LEAST:g} to {1 / LEAST:g}, got {exponents}")
        if not (weights.min() > 0 and weights.sum() <= 1 + 1e-6):
            raise ValueError(f"wanted positive weights of sum at most 1, got {weights}")
        exponents, group = np.unique(exponents, return_inverse=True)
        object.__setattr__(self, "exponents", exponents)
        object.__setattr__(self, "weights", np.bincount(group, weights))
        if isinstance(self.report, dict):  # as it comes out of a file, where nan is null
            known = {name: np.nan if number is None else number for name, number in self.report.items()}
            object.__setattr__(self, "report", FitReport(**known))

    def __call__(self, log_probs: Array) -> Array:
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
        log_probs: Array,
        labels: Array,
        *,
        which: Which = "all",
        loss: Loss = "squared",
        none: Literal["zeros", "ignore"] = "zeros",
        at_most_one: bool = False,
        weight: Array | None = None,
    ) -> ExponentialCalibration:
        """The global optimum of the paper's objective: deterministic, few terms, its remaining gap in `.report`.

        `which`: all (row, class) pairs, or only the pair of each row's top class. `loss`: squared error to the moving
        averages, or the likelihood of the pairs. `none`: rows labelled NONE are misses of every class, or are left out.
        `at_most_one`: c(1) may be less than one, which repairs rows that are wrong with a probability of one. `weight`:
        how often each row counts.
        """
        pairs = _pairs(log_probs, labels, which=which, none=none, weight=weight)
        return cls.fit_pairs(pairs, loss=loss, at_most_one=at_most_one)

    @classmethod
    def fit_pairs(
        cls,
        pairs: Pairs,
        *,
        loss: Loss = "squared",
        at_most_one: bool = False,
        window: float | None = None,
        points: int | None = 4000,
    ) -> ExponentialCalibration:
        """The same from pairs, such as those of a `PairHistogram`; `window` and `points` of the moving averages as in
        `Pairs.averages`."""
        _warn_if_small(pairs)
        if loss == "likelihood":
            _check_possible(pairs, at_most_one)
            return cls._of(best_likelihood(-pairs.log_p, pairs.hits, pairs.count, at_most_one=at_most_one), pairs)
        if loss != "squared":
            raise ValueError(f"loss must be 'squared' or 'likelihood', got {loss!r}")
        return cls._of(best_mixture(smoothed(pairs, window=window, points=points), at_most_one=at_most_one), pairs)

    @classmethod
    def fit_paper(
        cls,
        log_probs: Array,
        labels: Array,
        *,
        terms: int = 20,
        epochs: int = 20,
        points: int | None = 4000,
        window: float | None = None,
        seed: int = 0,
    ) -> ExponentialCalibration:
        """The paper's own optimiser, for reproduction: Adam on `terms` exponents and weights (M), `points` averages
        (n_b), `epochs` passes."""
        pairs = _pairs(log_probs, labels, which="all", none="zeros", weight=None)
        return cls._of(
            paper_mixture(smoothed(pairs, window=window, points=points), terms=terms, epochs=epochs, seed=seed), pairs
        )

    @classmethod
    def _of(cls, mixture: Mixture, pairs: Pairs) -> ExponentialCalibration:
        used = np.isfinite(mixture.exponents) & (mixture.weights > 0)
        exponents, weights = mixture.exponents[used], mixture.weights[used]
        if (
            not used.any()
        ):  # no hit at all: the least certain thing to say is that one more pair might have been half a hit
            exponents, weights = np.ones(1), np.array([0.5 / (pairs.total + 1)])
        return cls(exponents, weights, FitReport(mixture.error, mixture.gap, pairs.total, float(pairs.hits.sum())))


def _pairs(log_probs: Array, labels: Array, *, which: Which, none: str, weight: Array | None) -> Pairs:
    if none not in ("zeros", "ignore"):
        raise ValueError(f"none must be 'zeros' or 'ignore', got {none!r}")
    log_probs, labels = check_rows(log_probs, labels)
    if none == "zeros":
        return Pairs.of(log_probs, labels, which=which, weight=weight)
    known = labels != NONE
    if not known.any():
        raise ValueError(f"all {len(labels)} rows are labelled NONE and none='ignore' leaves nothing to fit")
    weight = None if weight is None else check_weight(weight, labels)[known]
    return Pairs.of(log_probs[known], labels[known], which=which, weight=weight)


def smoothed(pairs: Pairs, *, window: float | None = None, points: int | None = 4000) -> Points:
    """The moving averages as points to fit, all of the same weight."""
    probability, share = pairs.averages(window=window, points=points)
    with np.errstate(divide="ignore"):
        return Points(np.abs(np.log(probability)), share, np.full(len(share), 1 / len(share)))


def _warn_if_small(pairs: Pairs) -> None:
    hits, misses = float(pairs.hits.sum()), pairs.total - float(pairs.hits.sum())
    if min(hits, misses) < RARE:
        warnings.warn(
            f"{hits:g} hits and {misses:g} misses: a calibration map needs about {RARE} of each; expect it to be rough",
            SmallValidationWarning,
            stacklevel=3,
        )


def _check_possible(pairs: Pairs, at_most_one: bool) -> None:
    if np.any(pairs.hits[np.isneginf(pairs.log_p)] > 0):
        raise ValueError(
            "a label has probability 0, which no power of it can repair: its likelihood is 0; use loss='squared'"
        )
    if not at_most_one and np.any((pairs.count - pairs.hits)[np.exp(STEEPEST * pairs.log_p) == 1] > 0):
        raise ValueError(
            "a wrong class has probability 1, and c(1) = 1 makes it impossible; use at_most_one=True or loss='squared'"
        )
