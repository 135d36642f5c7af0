"""Calibration of a last layer on validation features, without its logits."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
from torch import Tensor

from slova._backend import to_numpy
from slova._fitting import fit_none_calibrator
from slova.calibration import ExponentialCalibration, resolve
from slova.extreme.chunks import check_labels, linear
from slova.extreme.readout import finish, top
from slova.heads import NONE, Top
from slova.metrics import Selection
from slova.scorer import Calibration, Scorer

__all__ = ["fit"]

AT_MOST_ONE = partial(ExponentialCalibration.fit, at_most_one=True)  # what docs/measurements/extreme.md shows


def fit(
    features: Tensor,
    matrix: Tensor,
    labels: Tensor,
    *,
    bias: Tensor | None = None,
    calibration: Calibration = AT_MOST_ONE,
) -> Scorer:
    """A scorer for `extreme.predict` and `extreme.score` from validation features and labels, NONE allowed.

    `calibration`, as in `Scorer.fit`, gets only the top class of each row, as a column of log-probabilities and labels
    0 (correct) or NONE, and must be elementwise: among all N K pairs the hits are too rare. P(none) is calibrated if
    there are NONE rows.
    """
    check_labels(linear(features, matrix, bias), labels, features.shape[:-1])
    answers = Top(*(to_numpy(numbers).ravel() for numbers in top(features, matrix, bias=bias)))
    truth = to_numpy(labels).ravel()
    fitted = resolve(calibration)
    if not getattr(getattr(fitted, "__self__", None), "elementwise", True):
        raise ValueError(f"calibration must act on single probabilities, such as 'exponential', got {calibration!r}")
    hits = np.where(answers.label == truth, 0, NONE)
    scorer = Scorer(
        classes=len(matrix),
        calibrator=None if fitted is None else fitted(answers.log_confidence[:, None], hits),
        none_calibrator=fit_none_calibrator(answers.log_none, truth, None),
    )
    confidence = finish(scorer, answers, 0.0).confidence.astype(np.float64)
    return replace(scorer, validation=Selection.histogram(confidence, hits != NONE))
