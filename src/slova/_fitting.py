"""How a scorer is fitted: the kind of the logits, the calibrators, and a report on rows that a fit did not see."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from slova._backend import NUMPY, Array, to_numpy
from slova._detect import Detected, check_kind, detect_head
from slova._fit_rows import Rows, check_versions, checked_rows, given_a_class, with_share
from slova._fit_warnings import BAD, GIVEN, warn_if_bad, warn_of_other_columns
from slova._outcomes import answer_and_readout, raw_log_none
from slova._validation import NONE, Floats, Ints, check_weight
from slova._warnings import CalibrationWarning, warnings_at_caller
from slova.calibration import AffineCalibration, ExponentialCalibration, PosteriorCalibration, resolve
from slova.calibration.registry import keeps_order, kind_of
from slova.evaluation import Conformity, FitReport, evaluate
from slova.heads import Head, Readout, find_head
from slova.prediction import Prediction
from slova.scorer import Calibration, Scorer
from slova.thresholds import selection_of

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
    keep_order: bool = False,
    weight: Array | None = None,
    none_weight: Array | None = None,
    versions_of: Array | None = None,
    seed: int = 0,
) -> Scorer:
    """See `Scorer.fit`."""
    rows, classes, labels = checked_rows(values, labels, none_share)
    weight, for_none = (None if part is None else check_weight(part, labels) for part in (weight, none_weight))
    groups = None if versions_of is None else check_versions(versions_of, labels)
    own: Any = slice(None) if groups is None else groups == np.arange(len(labels))  # the validation rows themselves
    found = detect_head(rows[own], labels[own]) if head == "auto" else _stated(head, rows)
    logits, _ = found.head.check(rows, classes)
    given = None if distances is None else to_numpy(distances)
    data = Rows(logits, labels, weight, for_none, given, groups, None if groups is None else own.astype(int))
    options = {"rescale": rescale, "calibration": calibration, "seed": seed, "none_share": none_share, "like": None}
    options |= {"order": "keep" if keep_order else None}
    data = data._replace(read=_read(found.head, None if rescale else resolve(calibration), logits))
    with warnings_at_caller():
        scorer = _fit(found.head, data, options)
        if not (misplaced := warn_of_other_columns(logits[own], labels[own])):
            _warn_of_a_guess(found, scorer, data, options)
        answers = _at(_cross_fitted(scorer, data, options), own)
        plain = _without_versions(found.head, data, options)
        data = data.at(own)
        fitted = replace(scorer, report=replace(_report(scorer, found, data, answers, none_share), **plain))
        if not misplaced:
            warn_if_bad(fitted)
    drawn = np.ones(len(data.labels), bool) if none_share is None else data.labels != NONE  # from the inputs to come
    drawn = drawn if data.weight is None else drawn & (data.weight > 0)
    return _with_guarantees(fitted, _at(answers, drawn), data.at(drawn), seed)


def _at(answers: tuple[Prediction, Readout], which: Any) -> tuple[Prediction, Readout]:
    return answers[0][which], Readout(*(part[which] for part in answers[1]))


def _with_guarantees(scorer: Scorer, answers: tuple[Prediction, Readout], rows: Rows, seed: int) -> Scorer:
    """With what `threshold` and `predict_set` look at, of the rows that are like the inputs to come."""
    prediction, readout = answers
    hits, confidence = prediction.top == rows.labels, prediction.confidence.astype(np.float64)
    return replace(
        scorer,
        validation=selection_of(confidence, hits, weight=rows.weight),
        conformity=Conformity.of(readout, rows.labels, seed),
    )


def _fit(head: Head, rows: Rows, options: dict[str, Any]) -> Scorer:
    logits, labels, weight = rows[:3]
    before = AffineCalibration.fit(logits, labels, weight=weight) if options["rescale"] else None
    logits = logits if before is None else before(logits)
    fit: Any = resolve(options["calibration"])
    scorer = Scorer(classes=logits.shape[1], head=head, before=before)
    names: Mapping[str, Any] = {} if fit is None else inspect.signature(fit).parameters
    wanted = {name: getattr(rows, name) for name in ("distances", "none_weight", "groups", "own")}
    wanted |= {name: options[name] for name in ("none_share", "seed", "like", "order")}
    given = {name: value for name, value in wanted.items() if value is not None}
    _check_options(f"calibration={options['calibration']!r}", fit, given, names)
    if fit is not None:
        values = _read(head, fit, logits) if rows.read is None else rows.read
        chosen = {name: value for name, value in given.items() if name in names}
        scorer = replace(scorer, calibrator=fit(values, labels, weight=weight, **chosen))
    if hasattr(scorer.calibrator, "none") or not (labels == NONE).any():
        return scorer
    return replace(scorer, none_calibrator=fit_none_calibrator(raw_log_none(scorer, logits, NUMPY), labels, weight))


def _read(head: Head, fit: Any, logits: Floats) -> Floats | None:
    """What this fit takes of the logits."""
    read: Any = head.log_odds if getattr(kind_of(fit), "takes", "log_probs") == "log_odds" else head.log_probs
    return None if fit is None else np.asarray(read(logits, NUMPY))


def _stated(head: str | Head, rows: Floats) -> Detected:
    """A head that was given, if the values can be of its kind."""
    check_kind(found := find_head(head), rows, fitted=False)
    return Detected(found, GIVEN)


def _check_options(calibration: str, fit: Any, given: Collection[str], names: Mapping[str, Any]) -> None:
    """The options given to a fit are among the names of those that it takes."""
    if unknown := sorted(set(given) - {"groups", "own", "seed", "like", "order"} - set(names)):
        raise ValueError(f"{' and '.join(unknown)} must be None with {calibration}")
    if "order" in given and not keeps_order(fit):
        raise ValueError(f"keep_order=True cannot be combined with {calibration}, which may change the top class")


def fit_none_calibrator(log_none: Floats, labels: Ints, weight: Floats | None) -> ExponentialCalibration | None:
    """The calibrator of log P(none) (N,); None without NONE rows, or where the head rules them out."""
    if not (labels == NONE).any() or np.isneginf(log_none).all():
        return None
    is_none = np.where(labels == NONE, 0, NONE)  # of the one class "none"
    return ExponentialCalibration.fit(log_none[:, None], is_none, at_most_one=True, weight=weight)


def _cross_fitted(scorer: Scorer, rows: Rows, options: dict[str, Any]) -> tuple[Prediction, Readout]:
    """Predictions of the same rows, each by a fit that did not see it; by the fit itself where rows are too few."""
    count = len(rows.labels)
    folds = FOLDS if rows.logits.size <= MANY else 2
    fold = np.random.default_rng(options["seed"]).permutation(count) % folds
    if rows.groups is not None:
        fold = fold[rows.groups]
    counts = (rows.labels != NONE) & (True if rows.weight is None else rows.weight > 0)
    enough = all((counts & (fold != number)).sum() >= 2 for number in range(folds))
    if (options["calibration"] is None and not options["rescale"]) or count < 2 * folds or not enough:
        return _scored(scorer, rows)
    if isinstance(scorer.calibrator, PosteriorCalibration) and counts.sum() >= CHOSEN_ONCE:
        options = options | {"like": scorer.calibrator}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # they were given for the whole set
        fits = (_fit(scorer.head, rows.at(fold != number), options) for number in range(folds))
        parts = [_scored(one, rows.at(fold == number)) for number, one in enumerate(fits)]
    order = np.argsort(np.argsort(fold, kind="stable"))
    columns = zip(*((*prediction, prediction.top, *readout) for prediction, readout in parts), strict=True)
    joined = [np.concatenate([to_numpy(part) for part in column])[order] for column in columns]
    return Prediction(*joined[:5]), Readout(*joined[5:])


def _without_versions(head: Head, rows: Rows, options: dict[str, Any]) -> dict[str, Any]:
    """ECE and NLL of the validation rows by a fit to these alone, for the report of a fit with versions of them."""
    if rows.own is None or rows.distances is None:
        return {}
    alone = rows.at((rows.own == 1) & (rows.labels != NONE))._replace(distances=None, groups=None, own=None)
    options = options | {"none_share": None, "order": "keep", "like": None}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        answers = given_a_class(*_cross_fitted(_fit(head, alone, options), alone, options))
    found = evaluate(*answers, alone.labels, weight=alone.weight)
    return {"plain_ece": found.ece.value, "plain_nll": found.nll.value}


def _scored(scorer: Scorer, rows: Rows) -> tuple[Prediction, Readout]:
    return answer_and_readout(scorer, rows.logits, NUMPY, rows.distances, rows.read)


def _report(
    scorer: Scorer, found: Detected, rows: Rows, answers: tuple[Prediction, Readout], none_share: float | None
) -> FitReport:
    """Of the validation rows and their cross-fitted answers."""
    plain, labels = Scorer(classes=scorer.classes, head=scorer.head), rows.labels
    known = labels[labels != NONE]
    given_class = rows.groups is not None and none_share is not None and len(known) == len(labels)
    weight = rows.weight if none_share is None else with_share(labels, rows.weight, none_share)
    before = evaluate(*_scored(plain, rows._replace(distances=None)), labels, weight=weight)
    after = evaluate(*(given_a_class(*answers) if given_class else answers), labels, weight=weight)
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
        given_class=given_class,
    )


def _warn_of_a_guess(found: Detected, scorer: Scorer, rows: Rows, options: dict[str, Any]) -> None:
    """Warns where the head is a guess, and the other one would give other answers."""
    if found.other is None:
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        other = _fit(found.other, rows._replace(read=None), options)
    answers = [one.answer(rows.logits, NUMPY, 0.0, rows.distances).confidence for one in (scorer, other)]
    difference = float(np.average(np.abs(answers[0] - answers[1]), weights=rows.weight))
    if difference > BAD:
        message = f"{found.why}; the confidences of the two readings differ by {difference:.3f} on average"
        warnings.warn(message, CalibrationWarning, stacklevel=2)
