"""How a scorer is fitted: the kind of the logits, the calibrators, and a report on rows that a fit did not see."""

from __future__ import annotations

import inspect
import warnings
from dataclasses import replace
from typing import Any

import numpy as np

from slova._backend import NUMPY, Array, to_numpy
from slova._detect import Detected, detect_head
from slova._fit_warnings import BAD, GIVEN, warn_if_bad
from slova._outcomes import raw_log_none
from slova._validation import NONE, Flags, Floats, Ints, check_groups, check_labels, check_rows, check_weight
from slova._warnings import CalibrationWarning, warnings_at_caller
from slova.calibration import AffineCalibration, ExponentialCalibration, PosteriorCalibration, resolve
from slova.evaluation import Conformity, Evaluation, FitReport, evaluate
from slova.heads import Head, Readout, find_head
from slova.prediction import Prediction
from slova.scorer import Calibration, Scorer
from slova.thresholds import selection_of

__all__ = ["fit_none_calibrator", "fit_scorer"]

FOLDS, MANY = 5, 200_000  # folds; numbers of logits beyond which two folds do
# Rows from which on the folds fit the part of the model that all rows chose. Simulated, the cross-fitted NLL is then
# too low by at most .0006. It would be by .002 with 500 rows and by .01 with 200: with fewer rows each fold chooses.
CHOSEN_ONCE = 2000


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
    none_weight: Array | None = None,
    versions_of: Array | None = None,
    seed: int = 0,
) -> Scorer:
    """See `Scorer.fit`."""
    rows, classes, labels = _checked(values, labels)
    weight = None if weight is None else check_weight(weight, labels)
    groups = None if versions_of is None else _check_versions(versions_of, labels)
    own = slice(None) if groups is None else groups == np.arange(len(labels))  # the validation rows themselves
    found = detect_head(rows[own], labels[own]) if head == "auto" else Detected(find_head(head), GIVEN)
    logits, _ = found.head.check(rows, classes)
    given = {"distances": None if distances is None else to_numpy(distances), "groups": groups, "like": None}
    given["none_weight"] = None if none_weight is None else check_weight(none_weight, labels)
    options = {"rescale": rescale, "calibration": calibration, "seed": seed, "none_share": none_share, **given}
    with warnings_at_caller():
        scorer = _fit(found.head, logits, labels, weight, options)
        _warn_of_a_guess(found, scorer, logits, labels, weight, options)
        prediction, readout = _cross_fitted(scorer, logits, labels, weight, options)
        prediction, readout = prediction[own], Readout(*(part[own] for part in readout))
        logits, labels, weight = logits[own], labels[own], None if weight is None else weight[own]
        counts = weight if none_share is None else _with_share(labels, weight, none_share)
        only_classes = groups is not None and none_share is not None and not (labels == NONE).any()
        judged = _given_a_class(prediction, readout) if only_classes else (prediction, readout)
        after = evaluate(*judged, labels, weight=counts)
        fitted = replace(scorer, report=_report(scorer, found, logits, labels, after, counts))
        warn_if_bad(fitted)
    drawn = np.ones(len(labels), bool) if none_share is None else labels != NONE  # from the inputs to come
    return _with_guarantees(fitted, prediction, readout, labels, weight, drawn, seed)


def _with_guarantees(
    scorer: Scorer,
    prediction: Prediction,
    readout: Readout,
    labels: Ints,
    weight: Floats | None,
    drawn: Flags,
    seed: int,
) -> Scorer:
    """With what `threshold` and `predict_set` look at, of the rows that are like the inputs to come."""
    if weight is not None:
        drawn = drawn & (weight > 0)
        weight = weight[drawn]
    hits, confidence = prediction.top == labels, prediction.confidence.astype(np.float64)
    return replace(
        scorer,
        validation=selection_of(confidence[drawn], hits[drawn], weight=weight),
        conformity=Conformity.of(Readout(*(part[drawn] for part in readout)), labels[drawn], seed),
    )


def _given_a_class(prediction: Prediction, readout: Readout) -> tuple[Prediction, Readout]:
    """The answers given "not none", for rows that all have a class although NONE has a prior."""
    log_known = np.log1p(-np.exp(np.minimum(readout.log_none, -1e-12)))
    known = np.exp(log_known)
    given = {"none": 0 * known, "confidence": prediction.confidence / known, "ambiguous": prediction.ambiguous / known}
    log_none = np.full_like(readout.log_none, -np.inf)
    return replace(prediction, **given), Readout(readout.log_probs - log_known[:, None], log_none)


def _check_versions(versions_of: Array, labels: Ints) -> Ints:
    """For each row the index of the validation row that it is a version of."""
    groups = check_groups(versions_of, labels)
    if ((groups < 0) | (groups >= len(labels))).any() or (groups[groups] != groups).any():
        raise ValueError("versions_of must hold indices of rows that are versions of themselves")
    return groups


def _with_share(labels: Ints, weight: Floats | None, none_share: float) -> Floats:
    """Weights with which the NONE rows are this share of all."""
    counts = np.ones(len(labels)) if weight is None else weight
    none = labels == NONE
    if not none.any():
        return counts
    factor = none_share / (1 - none_share) * counts[~none].sum() / max(float(counts[none].sum()), 1e-300)
    return np.where(none, counts * factor, counts)


def _checked(values: Array, labels: Array) -> tuple[Any, int, Ints]:
    """Values (N, K) and labels; one column, or no second axis, is a problem of two classes."""
    rows = to_numpy(values)
    rows = rows[:, None] if rows.ndim == 1 else rows
    if rows.ndim == 2 and rows.shape[1] == 1:
        rows, _ = check_rows(rows, np.zeros(len(rows), int), "logits")
        return np.asarray(rows), 2, check_labels(labels, np.hstack([rows, rows]), "logits")
    rows, column = check_rows(rows, labels, "logits")
    return np.asarray(rows), rows.shape[1], column


def _fit(head: Head, logits: Floats, labels: Ints, weight: Floats | None, options: dict[str, Any]) -> Scorer:
    before = AffineCalibration.fit(logits, labels, weight=weight) if options["rescale"] else None
    logits = logits if before is None else before(logits)
    fit: Any = resolve(options["calibration"])
    kind: Any = getattr(fit, "__self__", None)
    scorer = Scorer(classes=logits.shape[1], head=head, before=before)
    names = () if fit is None else inspect.signature(fit).parameters
    wanted = ("distances", "none_share", "none_weight", "groups", "seed", "like")
    given = {name: options[name] for name in wanted if options[name] is not None}
    if unknown := sorted(given.keys() - {"groups", "seed", "like"} - set(names)):
        raise ValueError(f"{' and '.join(unknown)} must be None with calibration={options['calibration']!r}")
    if fit is not None:
        takes = getattr(kind, "takes", "log_probs")
        rows = head.log_odds(logits, NUMPY) if takes == "log_odds" else head.log_probs(logits, NUMPY)
        chosen = {name: value for name, value in given.items() if name in names}
        scorer = replace(scorer, calibrator=fit(rows, labels, weight=weight, **chosen))
    if hasattr(scorer.calibrator, "none") or not (labels == NONE).any():
        return scorer
    return replace(scorer, none_calibrator=fit_none_calibrator(raw_log_none(scorer, logits, NUMPY), labels, weight))


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
    if options["groups"] is not None:
        fold = fold[options["groups"]]
    counts = (labels != NONE) & (True if weight is None else weight > 0)
    enough = all((counts & (fold != number)).sum() >= 2 for number in range(folds))
    if (options["calibration"] is None and not options["rescale"]) or len(labels) < 2 * folds or not enough:
        return _scored(scorer, logits, options["distances"])
    if isinstance(scorer.calibrator, PosteriorCalibration) and counts.sum() >= CHOSEN_ONCE:
        options = options | {"like": scorer.calibrator}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # they were given for the whole set
        parts = [
            _scored(*_held_out(scorer.head, fold == number, logits, labels, weight, options)) for number in range(folds)
        ]
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
    parts = {name: options[name] for name in ("distances", "groups", "none_weight")}
    seen = options | {name: None if part is None else part[~rows] for name, part in parts.items()}
    scorer = _fit(head, logits[~rows], labels[~rows], None if weight is None else weight[~rows], seen)
    return scorer, logits[rows], None if distances is None else distances[rows]


def _scored(scorer: Scorer, logits: Floats, distances: Floats | None) -> tuple[Prediction, Readout]:
    return scorer.answer(logits, NUMPY, 0.0, distances), scorer.readout(logits, NUMPY, distances)


def _report(
    scorer: Scorer, found: Detected, logits: Floats, labels: Ints, after: Evaluation, weight: Floats | None
) -> FitReport:
    plain = Scorer(classes=scorer.classes, head=scorer.head)
    before = evaluate(*_scored(plain, logits, None), labels, weight=weight)
    known = labels[labels != NONE]
    return FitReport(
        rows=after.rows,
        none_rows=after.none_rows,
        found=found.why,
        ece_before=before.ece.value,
        ece_after=after.ece.value,
        error=after.ece.error,
        nll_before=before.nll.value,
        nll_after=after.nll.value,
        perfect_ece=after.perfect_ece,
        accuracy=before.accuracy.value,
        largest_class=float(np.bincount(known).max() / len(labels)) if len(known) else 0.0,
    )


def _warn_of_a_guess(
    found: Detected, scorer: Scorer, logits: Floats, labels: Ints, weight: Floats | None, options: dict[str, Any]
) -> None:
    """Warns where the head is a guess, and the other one would give other answers."""
    if found.other is None:
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        other = _fit(found.other, logits, labels, weight, options)
    answers = [_scored(one, logits, options["distances"])[0].confidence for one in (scorer, other)]
    difference = float(np.average(np.abs(answers[0] - answers[1]), weights=weight))
    if difference > BAD:
        message = f"{found.why}; the confidences of the two readings differ by {difference:.3f} on average"
        warnings.warn(message, CalibrationWarning, stacklevel=2)
