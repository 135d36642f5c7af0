"""Out-of-fold calibration, for any `fit(log_probs, labels) -> calibrator`."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from slova._types import Labels, LogProbRows
from slova._validation import check_rows
from slova.calibration.calibrator import Calibrator

__all__ = ["cross_fit"]


def cross_fit(
    fit: Callable[[LogProbRows, Labels], Calibrator],
    log_probs: LogProbRows,
    labels: Labels,
    *,
    folds: int = 5,
    seed: int = 0,
) -> LogProbRows:
    """Calibrated log-probabilities of the same rows, each by a calibrator that was not fitted on it: for a set that is
    too small to split.

    >>> from slova.calibration import TemperatureScaling
    >>> log_probs, labels = np.log([[0.9, 0.1], [0.4, 0.6]] * 20), np.array([0, 1, 0, 0] * 10)
    >>> np.exp(cross_fit(TemperatureScaling.fit, log_probs, labels)[:2]).round(2)
    array([[0.98, 0.02],
           [0.34, 0.66]])
    """
    log_probs, labels = check_rows(log_probs, labels)
    if not 2 <= folds <= len(labels):
        raise ValueError(f"folds must lie between 2 and the number of rows ({len(labels)}), got {folds}")
    fold = np.random.default_rng(seed).permutation(len(labels)) % folds
    calibrated = np.empty_like(log_probs)
    for held_out in range(folds):
        rows = fold == held_out
        calibrated[rows] = fit(log_probs[~rows], labels[~rows])(log_probs[rows])
    return calibrated
