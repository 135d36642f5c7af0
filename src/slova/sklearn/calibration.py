"""Calibration of a `SlovaClassifier` on rows that its models were not fitted on: out of fold, or before `partial_fit`.

The exponential calibration is fitted to the top class of each row, whose confidence is reported. Its value at
probability one may be less than one, because trees and naive Bayes can be wrong with probability one.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize_scalar
from sklearn.model_selection import StratifiedKFold, check_cv
from sklearn.utils.metaestimators import _safe_split
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import _check_method_params

from slova.calibration import (
    AffineCalibration,
    ExponentialCalibration,
    PairHistogram,
    SmallValidationWarning,
    TemperatureScaling,
)
from slova.heads import HEADS, NONE, Readout
from slova.scorer import Scorer
from slova.sklearn.models import Floats, Labels, Response, Weight

__all__ = ["OutOfFold", "StreamCounts", "choose_smoothing", "fit_scorer", "out_of_fold", "splits"]

SMOOTHINGS = (1e-6, 1e-4, 1e-3, 1e-2, 3e-2)
FIT_TOP = partial(ExponentialCalibration.fit, which="top", at_most_one=True)


class OutOfFold(NamedTuple):
    """Outputs of models for rows that they were not fitted on, and the labels and weights of these rows."""

    outputs: Floats
    labels: Labels
    weight: Weight

    @classmethod
    def of(cls, outputs: Floats, labels: Labels, weight: Weight) -> OutOfFold:
        """Rows of weight 0 are left out."""
        if weight is None:
            return cls(outputs, labels, None)
        return cls(outputs[weight > 0], labels[weight > 0], weight[weight > 0])


def splits(cv: Any, X: Any, labels: Labels, **params: Any) -> list[Any]:
    """The (train, test) rows of each fold; none if no class has two rows.

    A number of folds is stratified, with NONE as one more class, and at most the number of rows of the largest class.
    """
    if cv is not None and not isinstance(cv, int | np.integer):
        return list(check_cv(cv, labels, classifier=True).split(X, labels, **params))
    count = np.unique(labels, return_counts=True)[1]
    folds = min(5 if cv is None else int(cv), int(count.max()))
    if count.min() < folds:
        message = f"the smallest class has {count.min()} rows for {folds} folds: its calibration will be inaccurate"
        warnings.warn(message, SmallValidationWarning, stacklevel=4)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The least populated class", UserWarning)
        return [] if count.max() < 2 else list(StratifiedKFold(folds).split(np.zeros(len(labels)), labels))


def out_of_fold(
    fit: Callable[..., Any], base: Any, X: Any, labels: Labels, weight: Weight, *, folds: list[Any],
    params: dict[str, Any], n_jobs: int | None,
) -> OutOfFold | None:  # fmt: skip
    """The outputs for all test rows, by models fitted by `fit` on the training rows; None without folds."""
    jobs = (delayed(_fold)(fit, base, X, labels, weight, train, test, params) for train, test in folds)
    parts = Parallel(n_jobs=n_jobs)(jobs)
    if not parts:
        return None
    outputs, held, weights = zip(*parts, strict=True)
    return OutOfFold(np.concatenate(outputs), np.concatenate(held), None if weight is None else np.concatenate(weights))


def _fold(
    fit: Callable[..., Any], base: Any, X: Any, labels: Labels, weight: Weight, train: Labels, test: Labels,
    params: dict[str, Any],
) -> OutOfFold:  # fmt: skip
    if np.intersect1d(train, test).size:
        raise ValueError(f"the folds of cv must not overlap, got {np.intersect1d(train, test).size} rows in both parts")
    seen, unseen = _safe_split(base, X, None, train)[0], _safe_split(base, X, None, test, train)[0]
    trained, held = (None, None) if weight is None else (weight[train], weight[test])
    params = _check_method_params(X, params, indices=train)
    models = fit(base, seen, labels[train], params, weight=trained)
    return OutOfFold.of(models.outputs(unseen), labels[test], held)


def choose_smoothing(rows: OutOfFold, response: Response) -> Response:
    """The response with the smoothing of the smallest loss, when a scale of the logits is fitted along with it."""
    if response.method != "predict_proba":
        return response
    tried = [replace(response, smoothing=number) for number in SMOOTHINGS]
    losses = [_best_scale(one.logits(rows.outputs), rows.labels, rows.weight, one.head)[1] for one in tried]
    return tried[int(np.argmin(losses))]


def fit_temperature(log_probs: Floats, labels: Labels, *, weight: Weight = None) -> TemperatureScaling:
    """Temperature scaling with a penalty, so that a few rows that are all correct do not lead to certainty."""
    return TemperatureScaling(1 / _best_scale(log_probs, labels, weight, "softmax")[0])


def _best_scale(logits: Floats, labels: Labels, weight: Weight, head: str) -> tuple[float, float]:
    """The scale of the logits with the smallest log-loss of softmax, or of K binary problems, and that loss."""
    weight = np.ones(len(logits)) if weight is None else weight
    target = np.arange(logits.shape[1]) == labels[:, None]
    if head == "softmax":
        logits = logits - logits.max(axis=1, keepdims=True)
        weight = weight * (labels != NONE)

    def loss(log_scale: float) -> float:
        scaled = np.exp(log_scale) * logits
        if head == "softmax":
            losses = np.log(np.exp(scaled).sum(axis=1)) - (scaled * target).sum(axis=1)
        else:
            losses = np.logaddexp(0, np.where(target, -scaled, scaled)).sum(axis=1)
        return float(weight @ losses + log_scale**2)

    found = minimize_scalar(loss, bounds=(-4.0, 3.0), method="bounded", options={"xatol": 1e-4})
    return float(np.exp(found.x)), float(found.fun)


def fit_scorer(rows: OutOfFold | None, response: Response, classes: int, calibration: Any) -> Scorer:
    """The scorer that these rows calibrate; without rows it is not calibrated, and a warning is issued."""
    head = HEADS[response.head]
    if rows is None:
        message = "no rows are left for calibration: the probabilities of the models are used as they are"
        warnings.warn(message, SmallValidationWarning, stacklevel=3)
        return Scorer(classes=classes, head=head)
    logits, before = response.logits(rows.outputs), None
    if response.rescale:
        before = _scale(logits, rows, response)
        logits = before(logits)
    fit = _default(calibration, has_none=bool((rows.labels == NONE).any()))
    return replace(Scorer.fit(logits, rows.labels, head=head, calibration=fit, weight=rows.weight), before=before)


def _scale(logits: Floats, rows: OutOfFold, response: Response) -> AffineCalibration:
    """The scale and offset of a decision function. One column f of two classes is (-f/2, f/2), whose softmax is
    sigmoid(f): the scale of f is fitted, and the offset would cancel."""
    if response.head == "softmax":
        return AffineCalibration(AffineCalibration.fit(2 * logits, rows.labels, weight=rows.weight).scale, 0.0)
    return AffineCalibration.fit(logits, rows.labels, weight=rows.weight)


def _default(calibration: Any, *, has_none: bool) -> Any:
    """What "auto" is: with NONE rows the exponential calibration, otherwise a temperature, which ignores NONE rows."""
    if not isinstance(calibration, str) or calibration not in ("auto", "exponential"):
        return calibration
    return FIT_TOP if has_none or calibration == "exponential" else fit_temperature


@dataclass(frozen=True)
class StreamCounts:
    """Histograms of the rows of a stream that were scored before `partial_fit`, in constant memory.

    The models change, so a row has the weight of the share of all rows that had been scored by then.
    """

    top: PairHistogram
    none: PairHistogram
    rows: int

    @classmethod
    def of(cls, readout: Readout, labels: Labels) -> StreamCounts:
        none = PairHistogram.of(readout.log_none[:, None], np.where(labels == NONE, 0, NONE))
        return cls(PairHistogram.of(readout.log_probs, labels, which="top"), none, len(labels))

    def update(self, later: StreamCounts) -> StreamCounts:
        rows = self.rows + later.rows
        share = self.rows / rows
        return StreamCounts(_scaled(self.top, share) + later.top, _scaled(self.none, share) + later.none, rows)

    def calibrate(self, scorer: Scorer) -> Scorer:
        fit = partial(ExponentialCalibration.fit_pairs, at_most_one=True)
        none = fit(self.none.pairs) if self.none.hits.any() and scorer.head.log_none is not None else None
        return replace(scorer, calibrator=fit(self.top.pairs), none_calibrator=none, validation=None)


def _scaled(counts: PairHistogram, share: float) -> PairHistogram:
    return replace(counts, count=share * counts.count, hits=share * counts.hits, total=share * counts.total)
