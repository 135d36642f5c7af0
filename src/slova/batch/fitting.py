"""Fit a scorer by histograms of fixed size, so that any number of rows can be fitted as a map-reduce.

The first pass fills one histogram per fold. Their sums give the calibrator of all rows and, for each fold, that of the
other rows. The second pass scores every row with the calibrator that did not see it, and keeps the confidences that
guarantees of risk need.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from operator import add
from typing import Literal

import numpy as np

from slova._backend import Array
from slova._detect import Detected, check_kind, detect_head
from slova._fit_warnings import GIVEN, warn_if_bad
from slova._outcomes import raw_log_none
from slova.batch.map_reduce import Rows
from slova.batch.metric_states import BINS, Answers, FieldwiseSum
from slova.calibration import ExponentialCalibration, PairHistogram, SmallValidationWarning
from slova.evaluation import FitReport, ece_of
from slova.heads import HEADS, NONE, Head
from slova.io import Block
from slova.metrics import Ece, Nll, Selection
from slova.scorer import Scorer

__all__ = ["FOLDS", "Plan", "fit_and_evaluate", "fit_scorer", "recognise", "uncalibrated_scorer"]

FOLDS = 5


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The options of a fit: the head, by default recognised on the first rows, and the calibrator."""

    head: str = "auto"
    calibration: Literal["exponential", "none"] = "exponential"
    pairs: Literal["all", "top"] = "all"
    at_most_one: bool = False


def fit_scorer(rows: Rows, plan: Plan) -> Scorer:
    """Fit the scorer without cross-fitting."""
    uncalibrated = uncalibrated_scorer(recognise(rows, plan.head).head, rows)
    scorer = _scorer(uncalibrated, rows.fold(partial(_histograms, uncalibrated, plan)), plan)
    return replace(scorer, validation=rows.fold(partial(_validation, scorer)))


def fit_and_evaluate(rows: Rows, plan: Plan) -> Scorer:
    """Fit the scorer and evaluate it by cross-fitting; with too few rows, on the rows of the fit."""
    recognised = recognise(rows, plan.head)
    uncalibrated = uncalibrated_scorer(recognised.head, rows)
    folds = list(rows.fold(partial(_folds, uncalibrated, plan)).values())
    whole = reduce(add, folds)
    scorer = _scorer(uncalibrated, whole, plan)
    cross_fitted = _cross_fitted_scorers(uncalibrated, folds, plan)
    found = rows.fold(partial(_evaluate_block, uncalibrated, scorer, cross_fitted or [scorer] * FOLDS))
    after = ece_of(found.after.ece)
    report = FitReport(
        rows=whole.rows,
        none_rows=int(whole.none.hits.sum()),
        found=recognised.why,
        ece_before=found.before.ece.value,
        ece_after=after.value,
        error=after.error,
        nll_before=found.before.nll.value,
        nll_after=found.after.nll.value,
        perfect_ece=_perfect_ece(found.after.ece),
        accuracy=float(found.before.ece.hits.sum() / whole.rows),
        largest_class=float(whole.labels.max() / whole.rows),
    )
    fitted = replace(scorer, validation=found.validation, report=report)
    warn_if_bad(fitted)
    return fitted


def _perfect_ece(bins: Ece) -> float:
    """The ECE that a calibrated model with these confidences has on average, which noise makes positive."""
    variance = bins.total * (1 - bins.total / np.maximum(bins.count, 1))
    return float(np.sqrt(2 / np.pi * np.maximum(variance, 0)).sum() / bins.count.sum())


def recognise(rows: Rows, head: str | None) -> Detected:
    """A head by its name; by default ("auto", None) it is recognised on the first rows."""
    block = rows.first()
    if head not in (None, "auto"):
        check_kind(HEADS[head], block.logits, fitted=False, named=block.probs)
        _check_width(HEADS[head], block.logits.shape[1])
        return Detected(HEADS[head], GIVEN)
    found = detect_head(block.logits, block.labels)
    return found._replace(why=f"{found.why}, by the first {len(block.labels):,} rows")


def _check_width(head: Head, width: int) -> None:
    if head.columns and width != head.columns:
        raise ValueError(f"the head {head.name} takes one column, got {width}")
    if not head.columns and width == 1:
        binary = ", ".join(each.name for each in HEADS.values() if each.columns == 1)
        raise ValueError(
            f"the head {head.name} takes one column per class, got one column: the heads of one are {binary}"
        )


def uncalibrated_scorer(head: Head, rows: Rows) -> Scorer:
    return Scorer(classes=2 if head.columns else rows.classes, head=head)


@dataclass(frozen=True)
class _Histograms(FieldwiseSum):
    """The pairs of some rows, the pairs of "is it NONE?", the number of rows of each class, and of all."""

    pairs: PairHistogram
    none: PairHistogram
    labels: Array
    rows: int


class _Folds(dict[int, _Histograms]):
    """The histograms of each fold that has rows."""

    def __add__(self, other: _Folds) -> _Folds:
        both = {fold: self[fold] + other[fold] for fold in self.keys() & other.keys()}
        return _Folds(sorted({**self, **other, **both}.items()))


@dataclass(frozen=True)
class _Errors(FieldwiseSum):
    ece: Ece
    nll: Nll

    @classmethod
    def of(cls, scorer: Scorer, logits: Array, labels: Array) -> _Errors:
        log_probs, log_none = scorer(logits)
        ece = Ece.binned(*Answers.of(scorer, logits, labels), BINS, "width")
        return cls(ece, Nll.of(log_probs, labels, log_none=log_none))


@dataclass(frozen=True)
class _Evaluation(FieldwiseSum):
    """The errors of the head, the cross-fitted ones of the calibrator, and the confidences of the validation set."""

    before: _Errors
    after: _Errors
    validation: Selection


def _folds(uncalibrated: Scorer, plan: Plan, block: Block, first: int) -> _Folds:
    fold = _fold_numbers(first, len(block.labels))
    parts = {i: Block(block.logits[fold == i], block.labels[fold == i]) for i in np.unique(fold).tolist()}
    return _Folds({i: _histograms(uncalibrated, plan, part, 0) for i, part in parts.items()})


def _fold_numbers(first: int, rows: int) -> Array:
    """Folds by a hash of the row number, independent of the partitioning."""
    row = np.arange(first, first + rows, dtype=np.uint64)
    scrambled = (row * np.uint64(2654435761) >> np.uint64(16)) % np.uint64(1 << 16)
    return (scrambled * np.uint64(FOLDS) >> np.uint64(16)).astype(np.int64)


def _histograms(uncalibrated: Scorer, plan: Plan, block: Block, first: int) -> _Histograms:
    logits, ops = uncalibrated.head.check(block.logits, uncalibrated.classes)
    is_none = np.where(block.labels == NONE, 0, NONE)  # labels of the single class "none"
    pairs = PairHistogram.of(uncalibrated.head.log_probs(logits, ops), block.labels, which=plan.pairs)
    none = PairHistogram.of(raw_log_none(uncalibrated, logits, ops)[:, None], is_none)
    labels = np.bincount(block.labels[block.labels != NONE], minlength=uncalibrated.classes)
    return _Histograms(pairs, none, labels, len(block.labels))


def _scorer(uncalibrated: Scorer, histograms: _Histograms, plan: Plan) -> Scorer:
    fit = partial(ExponentialCalibration.fit_pairs, at_most_one=plan.at_most_one)
    none_known = histograms.none.hits.sum() > 0
    return replace(
        uncalibrated,
        calibrator=None if plan.calibration == "none" else fit(histograms.pairs.pairs),
        none_calibrator=ExponentialCalibration.fit_pairs(histograms.none.pairs, at_most_one=True)
        if none_known
        else None,
    )


def _cross_fitted_scorers(uncalibrated: Scorer, folds: Sequence[_Histograms], plan: Plan) -> list[Scorer]:
    """For each fold the scorer that did not see it; empty if there are too few rows."""
    if len(folds) < FOLDS or min(fold.rows for fold in folds) < 2:
        return []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SmallValidationWarning)  # raised once, for the whole set
        return [_scorer(uncalibrated, reduce(add, [*folds[:i], *folds[i + 1 :]]), plan) for i in range(FOLDS)]


def _evaluate_block(
    uncalibrated: Scorer, scorer: Scorer, cross_fitted: list[Scorer], block: Block, first: int
) -> _Evaluation:
    fold = _fold_numbers(first, len(block.labels))
    parts = (_Errors.of(cross_fitted[i], block.logits[fold == i], block.labels[fold == i]) for i in np.unique(fold))
    before = _Errors.of(uncalibrated, block.logits, block.labels)
    return _Evaluation(before, reduce(add, parts), _validation(scorer, block, first))


def _validation(scorer: Scorer, block: Block, first: int) -> Selection:
    return Selection.histogram(*Answers.of(scorer, block.logits, block.labels))
