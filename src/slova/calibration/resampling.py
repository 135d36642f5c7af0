"""How far a fitted map can be trusted: out-of-fold calibration, and bootstrap intervals. For any `fit(log_probs,
labels) -> map`."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from slova._backend import Array
from slova.calibration.calibrator import Map
from slova.calibration.exponential import SmallValidationWarning
from slova.calibration.pairs import check_rows

__all__ = ["Interval", "cross_fit", "map_interval"]

Fit = Callable[[Array, Array], Map]


class Interval(NamedTuple):
    """The middle `level` of the bootstrapped maps at each probability asked for."""

    low: Array
    high: Array


def cross_fit(fit: Fit, log_probs: Array, labels: Array, *, folds: int = 5, seed: int = 0) -> Array:
    """Calibrated log-probabilities of the same rows, each by a map that did not see it: an honest look at a set that is
    too small to split."""
    log_probs, labels = check_rows(log_probs, labels)
    if not 2 <= folds <= len(labels):
        raise ValueError(f"wanted between 2 folds and one a row ({len(labels)}), got {folds}")
    fold = np.random.default_rng(seed).permutation(len(labels)) % folds
    calibrated = np.empty_like(log_probs)
    for held_out in range(folds):
        rows = fold == held_out
        calibrated[rows] = fit(log_probs[~rows], labels[~rows])(log_probs[rows])
    return calibrated


def map_interval(
    fit: Fit, log_probs: Array, labels: Array, *, at: Array, level: float = 0.95, resamples: int = 200, seed: int = 0
) -> Interval:
    """Percentile bootstrap over rows of what the map makes of the probabilities `at`; for maps that act on each
    probability by itself."""
    log_probs, labels = check_rows(log_probs, labels)
    if not (0 < level < 1 and resamples >= 2):
        raise ValueError(f"wanted a level in (0, 1) and at least 2 resamples, got {level} and {resamples}")
    at = np.asarray(at, np.float64)
    if not np.all((at >= 0) & (at <= 1)):
        raise ValueError(f"wanted probabilities to look at, got {at}")
    with np.errstate(divide="ignore"):
        places = np.log(at)
    generator = np.random.default_rng(seed)
    curves = [_curve(fit, log_probs, labels, places, generator) for _ in range(resamples)]
    low, high = np.quantile(curves, [(1 - level) / 2, (1 + level) / 2], axis=0)
    return Interval(low, high)


def _curve(fit: Fit, log_probs: Array, labels: Array, places: Array, generator: np.random.Generator) -> Array:
    rows = generator.integers(0, len(labels), len(labels))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SmallValidationWarning)
        fitted = fit(log_probs[rows], labels[rows])
    if not fitted.elementwise:
        raise TypeError(f"{type(fitted).__name__} maps rows, not single probabilities, and has no curve")
    return np.exp(fitted(places[..., None])[..., 0])
