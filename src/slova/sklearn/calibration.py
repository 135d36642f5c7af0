"""Calibration of a `SlovaClassifier` on rows that its models were not fitted on: out of fold, or before `partial_fit`.

The default is the posterior calibration of log-odds. The exponential one is fitted to the top class of each row, whose
confidence is reported; its value at probability one may be less than one, because trees and naive Bayes can be wrong
with probability one.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.model_selection import StratifiedKFold, check_cv
from sklearn.utils.metaestimators import _safe_split
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import _check_method_params

from slova._detect import detect_head
from slova.calibration import (
    AffineCalibration,
    ExponentialCalibration,
    PairHistogram,
    PosteriorCalibration,
    SmallValidationWarning,
)
from slova.heads import HEADS, NONE, SOFTMAX, Readout, log_softmax
from slova.scorer import Scorer
from slova.sklearn.models import Floats, Labels, Response, Weight

__all__ = ["OutOfFold", "StreamCounts", "class_probs", "fit_scorer", "out_of_fold", "recognise", "splits"]

LEAST = 1e-12  # of a probability, so that no row has an infinite loss
LEAD = 1e-9  # the share by which the top class exceeds the others, so that it is the argmax
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
    Rows are shuffled, always in the same way: neighbours, such as the images of one writer, would be in one fold, and
    its scores would be worse than those of the inputs to come.
    """
    if cv is not None and not isinstance(cv, int | np.integer):
        return list(check_cv(cv, labels, classifier=True).split(X, labels, **params))
    count = np.unique(labels, return_counts=True)[1]
    folds = min(5 if cv is None else int(cv), int(count.max()))
    if count.min() < folds:
        message = f"the smallest class has {count.min()} rows for {folds} folds: its calibration will be inaccurate"
        warnings.warn(message, SmallValidationWarning, stacklevel=4)
    if count.max() < 2:
        return []
    folded = StratifiedKFold(folds, shuffle=True, random_state=0)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The least populated class", UserWarning)
        return list(folded.split(np.zeros(len(labels)), labels))


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


def recognise(rows: OutOfFold, response: Response) -> Response:
    """A decision function of several classes is one-vs-rest, unless its values are softmax logits on these rows."""
    if not response.rescale or response.head != "slova":
        return response
    logits = response.logits(rows.outputs)
    scaled = AffineCalibration.fit(logits, rows.labels, weight=rows.weight)(logits)
    is_softmax = detect_head(scaled, rows.labels).head == SOFTMAX
    return replace(response, head="softmax", rescale=False) if is_softmax else response


def fit_scorer(
    rows: OutOfFold | None, response: Response, classes: int, calibration: Any, keep_order: bool = False
) -> Scorer:
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
    weight = rows.weight  # below one in the mean they are shares and not counts, as where they sum to one
    weight = weight if weight is None or weight.mean() >= 1 else weight / weight.mean()
    fit = FIT_TOP if isinstance(calibration, str) and calibration == "exponential" else calibration
    options: dict[str, Any] = {"head": head, "calibration": fit, "keep_order": keep_order, "weight": weight}
    return replace(Scorer.fit(logits, rows.labels, **options), before=before)


def _scale(logits: Floats, rows: OutOfFold, response: Response) -> AffineCalibration:
    """The scale and offset of a decision function. One column f of two classes is (-f/2, f/2), whose softmax is
    sigmoid(f): the scale of f is fitted, and the offset would cancel."""
    if response.head == "softmax":
        return AffineCalibration(AffineCalibration.fit(2 * logits, rows.labels, weight=rows.weight).scale, 0.0)
    return AffineCalibration.fit(logits, rows.labels, weight=rows.weight)


def class_probs(scorer: Scorer, logits: Floats) -> Floats:
    """Probabilities (N, K) of the classes, given one of them, whose argmax is the label of the scorer."""
    if scorer.calibrator is None:
        log_probs = log_softmax(logits if scorer.before is None else scorer.before(logits))
    elif scorer.none == "calibrated" and scorer.calibrator.elementwise:
        log_probs, log_none = scorer(logits)
        log_probs = log_probs - np.log1p(-np.minimum(np.exp(log_none), 1 - LEAST))[:, None]
    else:
        log_probs = _without_none(scorer)(logits).log_probs
    top = scorer.predict(logits).top[:, None]
    probs = np.exp(np.maximum(log_probs, np.log(LEAST)))
    largest = np.maximum(probs.max(axis=1, keepdims=True), (1 + LEAD) / scorer.classes)
    probs = np.minimum(probs, (1 - LEAD) * largest)  # a calibrator may tie classes
    np.put_along_axis(probs, top, largest, axis=1)
    return np.asarray(probs / probs.sum(axis=1, keepdims=True))


def _without_none(scorer: Scorer) -> Scorer:
    """The scorer of the classes alone: P(none) is 0."""
    calibrator: Any = scorer.calibrator
    if isinstance(calibrator, PosteriorCalibration):
        calibrator = replace(calibrator, none=None)
    head = replace(scorer.head, log_none=None)
    return replace(scorer, calibrator=calibrator, none_calibrator=None, head=head)


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
        scorer = replace(scorer, validation=None, conformity=None, report=None)
        return replace(scorer, calibrator=fit(self.top.pairs), none_calibrator=none)


def _scaled(counts: PairHistogram, share: float) -> PairHistogram:
    return replace(counts, count=share * counts.count, hits=share * counts.hits, total=share * counts.total)
