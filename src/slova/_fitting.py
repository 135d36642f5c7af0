"""How a scorer is fitted: the kind of the logits, the calibrators, and a report on rows that a fit did not see."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np

from slova._backend import NUMPY, Array, to_numpy
from slova._detect import Detected, detect_head
from slova._validation import NONE, Floats, Ints, check_rows, check_weight
from slova.calibration import AffineCalibration, ExponentialCalibration, SmallValidationWarning, resolve
from slova.evaluation import Evaluation, FitReport, evaluate
from slova.heads import Head, Readout, find_head
from slova.prediction import Prediction
from slova.scorer import Calibration, Scorer
from slova.thresholds import selection_of

__all__ = ["fit_none_calibrator", "fit_scorer"]

FOLDS, MANY = 5, 200_000  # folds; numbers of logits beyond which two folds do


def fit_scorer(
    values: Array,
    labels: Array,
    *,
    head: str | Head,
    calibration: Calibration,
    distances: Array | None = None,
    none_share: float | None = None,
    rescale: bool = False,
    weight: Array | None = None,
    seed: int = 0,
) -> Scorer:
    """See `Scorer.fit`."""
    rows = to_numpy(values)
    rows, classes, labels = _checked(rows[:, None] if rows.ndim == 1 else rows, labels)
    weight = None if weight is None else check_weight(weight, labels)
    found = detect_head(rows, labels) if head == "auto" else Detected(find_head(head), "as given")
    logits, _ = found.head.check(rows, classes)
    given = {"distances": None if distances is None else to_numpy(distances), "none_share": none_share}
    options = {"rescale": rescale, "calibration": calibration, "seed": seed, **given}
    scorer = _fit(found.head, logits, labels, weight, options)
    prediction, readout = _cross_fitted(scorer, logits, labels, weight, options)
    hits = prediction.top == labels
    return replace(
        scorer,
        validation=selection_of(prediction.confidence.astype(np.float64), hits, weight=weight),
        report=_report(scorer, found, logits, labels, evaluate(prediction, readout, labels)),
    )


def _checked(rows: Array, labels: Array) -> tuple[Floats, int, Ints]:
    """Values (N, K) and labels; one column is a problem of two classes."""
    if rows.ndim == 2 and rows.shape[1] == 1:
        _, column = check_rows(np.hstack([rows, rows]), labels, "logits")
        return rows, 2, column
    rows, column = check_rows(rows, labels, "logits")
    return rows, rows.shape[1], column


def _fit(head: Head, logits: Floats, labels: Ints, weight: Floats | None, options: dict[str, Any]) -> Scorer:
    before = AffineCalibration.fit(logits, labels, weight=weight) if options["rescale"] else None
    logits = logits if before is None else before(logits)
    fit = resolve(options["calibration"])
    kind = getattr(fit, "__self__", None)
    scorer = Scorer(classes=logits.shape[1], head=head, before=before)
    if getattr(kind, "takes", "log_probs") == "log_odds":
        log_odds = logits if head.log_odds is None else head.log_odds(logits, NUMPY)
        given = {name: options[name] for name in ("distances", "none_share", "seed") if options[name] is not None}
        return replace(scorer, calibrator=fit(log_odds, labels, weight=weight, **given))  # type: ignore[misc]
    if options["distances"] is not None or options["none_share"] is not None:
        raise ValueError("distances and none_share are for posterior calibration, got another one")
    readout = head.readout(logits, NUMPY)
    calibrator = None if fit is None else fit(readout.log_probs, labels, weight=weight)
    return replace(scorer, calibrator=calibrator, none_calibrator=fit_none_calibrator(readout.log_none, labels, weight))


def fit_none_calibrator(log_none: Floats, labels: Ints, weight: Floats | None) -> ExponentialCalibration | None:
    """The calibrator of log P(none) (N,); None without NONE rows, or where the head rules them out."""
    if not (labels == NONE).any() or np.isneginf(log_none).all():
        return None
    is_none = np.where(labels == NONE, 0, NONE)  # of the one class "none"
    return ExponentialCalibration.fit(log_none[:, None], is_none, at_most_one=True, weight=weight)


def _cross_fitted(
    scorer: Scorer, logits: Floats, labels: Ints, weight: Floats | None, options: dict[str, Any]
) -> tuple[Prediction, Readout]:
    """Predictions of the same rows, each by a fit that did not see it; by the fit itself where rows are too few."""
    folds = FOLDS if logits.size <= MANY else 2
    fold = np.random.default_rng(options["seed"]).permutation(len(labels)) % folds
    enough = all(((labels != NONE) & (fold != number)).sum() >= 2 for number in range(folds))
    if len(labels) < 2 * folds or not enough:
        return _scored(scorer, logits, options["distances"])
    parts = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SmallValidationWarning)  # said once, of the whole set
        for number in range(folds):
            parts.append(_scored(*_held_out(scorer.head, fold == number, logits, labels, weight, options)))
    order = np.argsort(np.concatenate([np.flatnonzero(fold == number) for number in range(folds)]))
    joined = [
        np.concatenate([to_numpy(part) for part in column])[order] for column in zip(*map(_flat, parts), strict=True)
    ]
    return Prediction(*joined[:5]), Readout(*joined[5:])


def _flat(scored: tuple[Prediction, Readout]) -> tuple[Array, ...]:
    prediction, readout = scored
    return (*prediction, prediction.top, *readout)


def _held_out(
    head: Head, rows: Array, logits: Floats, labels: Ints, weight: Floats | None, options: dict[str, Any]
) -> tuple[Scorer, Floats, Floats | None]:
    distances = options["distances"]
    seen = options | {"distances": None if distances is None else distances[~rows]}
    scorer = _fit(head, logits[~rows], labels[~rows], None if weight is None else weight[~rows], seen)
    return scorer, logits[rows], None if distances is None else distances[rows]


def _scored(scorer: Scorer, logits: Floats, distances: Floats | None) -> tuple[Prediction, Readout]:
    return scorer.answer(logits, NUMPY, 0.0, distances), scorer.readout(logits, NUMPY, distances)


def _report(scorer: Scorer, found: Detected, logits: Floats, labels: Ints, after: Evaluation) -> FitReport:
    plain = Scorer(classes=scorer.classes, head=scorer.head)
    before = evaluate(*_scored(plain, logits, None), labels)
    return FitReport(
        rows=after.rows,
        none_rows=after.none_rows,
        found=found.why,
        ece_before=before.ece.value,
        ece_after=after.ece.value,
        error=after.ece.error,
        nll_before=before.nll.value,
        nll_after=after.nll.value,
    )
