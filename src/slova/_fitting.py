"""How a scorer is fitted: the kind of the logits, the calibrators, and a report on rows that a fit did not see."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from slova._backend import NUMPY, Array, to_numpy
from slova._detect import Detected, check_kind, detect_head
from slova._fit_warnings import BAD, GIVEN, warn_if_bad
from slova._outcomes import answer_and_readout, raw_log_none
from slova._validation import NONE, Floats, Ints, check_groups, check_labels, check_rows, check_weight
from slova._warnings import CalibrationWarning, warnings_at_caller
from slova.calibration import AffineCalibration, ExponentialCalibration, PosteriorCalibration, resolve
from slova.calibration.registry import keeps_order, kind_of
from slova.evaluation import Conformity, Evaluation, FitReport, evaluate
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
    rows, classes, labels = _checked(values, labels, none_share)
    weight, for_none = (None if part is None else check_weight(part, labels) for part in (weight, none_weight))
    groups = None if versions_of is None else _check_versions(versions_of, labels)
    own: Any = slice(None) if groups is None else groups == np.arange(len(labels))  # the validation rows themselves
    found = detect_head(rows[own], labels[own]) if head == "auto" else _stated(head, rows)
    logits, _ = found.head.check(rows, classes)
    given = None if distances is None else to_numpy(distances)
    data = _Rows(logits, labels, weight, for_none, given, groups, None if groups is None else own.astype(int))
    options = {"rescale": rescale, "calibration": calibration, "seed": seed, "none_share": none_share, "like": None}
    options |= {"order": "keep" if keep_order else None}
    data = data._replace(read=_read(found.head, None if rescale else resolve(calibration), logits))
    with warnings_at_caller():
        scorer = _fit(found.head, data, options)
        _warn_of_a_guess(found, scorer, data, options)
        answers = _at(_cross_fitted(scorer, data, options), own)
        data = data.at(own)
        counts = data.weight if none_share is None else _with_share(data.labels, data.weight, none_share)
        only_classes = groups is not None and none_share is not None and not (data.labels == NONE).any()
        after = evaluate(*(_given_a_class(*answers) if only_classes else answers), data.labels, weight=counts)
        fitted = replace(scorer, report=_report(scorer, found, data, after, counts))
        warn_if_bad(fitted)
    drawn = np.ones(len(data.labels), bool) if none_share is None else data.labels != NONE  # from the inputs to come
    drawn = drawn if data.weight is None else drawn & (data.weight > 0)
    return _with_guarantees(fitted, _at(answers, drawn), data.at(drawn), seed)


class _Rows(NamedTuple):
    """What a scorer is fitted to, one entry per row."""

    logits: Floats
    labels: Ints
    weight: Floats | None
    none_weight: Floats | None
    distances: Floats | None
    groups: Ints | None
    own: Ints | None
    read: Floats | None = None  # what the calibrator takes of the logits, the same in all folds

    def at(self, which: Any) -> _Rows:
        return _Rows(*(None if part is None else part[which] for part in self))  # type: ignore[arg-type]


def _at(answers: tuple[Prediction, Readout], which: Any) -> tuple[Prediction, Readout]:
    return answers[0][which], Readout(*(part[which] for part in answers[1]))


def _with_guarantees(scorer: Scorer, answers: tuple[Prediction, Readout], rows: _Rows, seed: int) -> Scorer:
    """With what `threshold` and `predict_set` look at, of the rows that are like the inputs to come."""
    prediction, readout = answers
    hits, confidence = prediction.top == rows.labels, prediction.confidence.astype(np.float64)
    return replace(
        scorer,
        validation=selection_of(confidence, hits, weight=rows.weight),
        conformity=Conformity.of(readout, rows.labels, seed),
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


def _checked(values: Array, labels: Array, none_share: float | None) -> tuple[Any, int, Ints]:
    """Values (N, K) and labels; one column, or no second axis, is a problem of two classes."""
    rows = to_numpy(values)
    rows = rows[:, None] if rows.ndim == 1 else rows
    if rows.ndim == 2 and rows.shape[1] == 1:
        rows, _ = check_rows(rows, np.zeros(len(rows), int), "logits")
        column, classes = check_labels(labels, np.hstack([rows, rows]), "logits"), 2
    else:
        rows, column = check_rows(rows, labels, "logits")
        classes = rows.shape[1]
    if none_share is not None and not (column == NONE).any():
        raise ValueError("none_share is the prior of NONE, and no row is labelled NONE: omit it, or add such rows")
    return np.asarray(rows), classes, column


def _fit(head: Head, rows: _Rows, options: dict[str, Any]) -> Scorer:
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


def _cross_fitted(scorer: Scorer, rows: _Rows, options: dict[str, Any]) -> tuple[Prediction, Readout]:
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


def _scored(scorer: Scorer, rows: _Rows) -> tuple[Prediction, Readout]:
    return answer_and_readout(scorer, rows.logits, NUMPY, rows.distances, rows.read)


def _report(scorer: Scorer, found: Detected, rows: _Rows, after: Evaluation, weight: Floats | None) -> FitReport:
    plain, labels = Scorer(classes=scorer.classes, head=scorer.head), rows.labels
    before = evaluate(*_scored(plain, rows._replace(distances=None)), labels, weight=weight)
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


def _warn_of_a_guess(found: Detected, scorer: Scorer, rows: _Rows, options: dict[str, Any]) -> None:
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
