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
from typing import Literal, NamedTuple

import numpy as np

from slova._backend import Array
from slova.batch.map_reduce import Rows
from slova.batch.metric_states import Answers, FieldwiseSum, calibration
from slova.calibration import ExponentialCalibration, PairHistogram, SmallValidationWarning
from slova.heads import HEADS, NONE
from slova.io import Block
from slova.metrics import Ece, Selection
from slova.scorer import Scorer

__all__ = ["FOLDS", "FitResult", "Plan", "fit_and_evaluate", "fit_scorer"]

FOLDS = 5


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The options of a fit: the head, and the exponential calibrator or none."""

    head: str = "slova"
    calibration: Literal["exponential", "none"] = "exponential"
    pairs: Literal["all", "top"] = "all"
    at_most_one: bool = False


class FitResult(NamedTuple):
    """A scorer, the number of its rows, and its ECE before calibration and after it, the latter cross-fitted."""

    scorer: Scorer
    rows: int
    none_rows: int
    before: float
    after: float | None


def fit_scorer(rows: Rows, plan: Plan) -> Scorer:
    """Fit the scorer without cross-fitting."""
    uncalibrated = Scorer(classes=rows.classes, head=HEADS[plan.head])
    scorer = _scorer(uncalibrated, rows.fold(partial(_histograms, uncalibrated, plan)), plan)
    return replace(scorer, validation=rows.fold(partial(_validation, scorer)))


def fit_and_evaluate(rows: Rows, plan: Plan) -> FitResult:
    """Fit the scorer and evaluate it by cross-fitting."""
    uncalibrated = Scorer(classes=rows.classes, head=HEADS[plan.head])
    folds = rows.fold(partial(_folds, uncalibrated, plan)).known
    whole = reduce(add, folds)
    scorer = _scorer(uncalibrated, whole, plan)
    cross_fitted = _cross_fitted_scorers(uncalibrated, folds, plan)
    found = rows.fold(partial(_evaluate_block, uncalibrated, scorer, cross_fitted or [uncalibrated] * FOLDS))
    after = found.after.value if cross_fitted else None
    nones = int(whole.none.hits.sum())
    return FitResult(replace(scorer, validation=found.validation), whole.rows, nones, found.before.value, after)


@dataclass(frozen=True)
class _Histograms(FieldwiseSum):
    """The pairs of some rows, the pairs of "is it NONE?", and the number of rows."""

    pairs: PairHistogram
    none: PairHistogram
    rows: int


@dataclass(frozen=True)
class _Folds:
    """The histograms of each fold, None for a fold without rows."""

    histograms: tuple[_Histograms | None, ...]

    def __add__(self, other: _Folds) -> _Folds:
        return _Folds(tuple(map(_sum, self.histograms, other.histograms)))

    @property
    def known(self) -> list[_Histograms]:
        return [histograms for histograms in self.histograms if histograms is not None]


@dataclass(frozen=True)
class _Evaluation(FieldwiseSum):
    """ECE of the head, cross-fitted ECE of the calibrator, and the confidences of the validation set."""

    before: Ece
    after: Ece
    validation: Selection


def _sum(left: _Histograms | None, right: _Histograms | None) -> _Histograms | None:
    return left + right if left and right else left or right


def _folds(uncalibrated: Scorer, plan: Plan, block: Block, first: int) -> _Folds:
    fold = _fold_numbers(first, len(block.labels))
    return _Folds(tuple(_fold_histograms(uncalibrated, plan, block, fold == number) for number in range(FOLDS)))


def _fold_numbers(first: int, rows: int) -> Array:
    """Folds by a hash of the row number, independent of the partitioning."""
    row = np.arange(first, first + rows, dtype=np.uint64)
    scrambled = (row * np.uint64(2654435761) >> np.uint64(16)) % np.uint64(1 << 16)
    return (scrambled * np.uint64(FOLDS) >> np.uint64(16)).astype(np.int64)


def _histograms(uncalibrated: Scorer, plan: Plan, block: Block, first: int) -> _Histograms:
    log_probs, log_none = uncalibrated(block.logits)
    is_none = np.where(block.labels == NONE, 0, NONE)  # labels of the single class "none"
    pairs = PairHistogram.of(log_probs, block.labels, which=plan.pairs)
    return _Histograms(pairs, PairHistogram.of(log_none[:, None], is_none), len(block.labels))


def _fold_histograms(uncalibrated: Scorer, plan: Plan, block: Block, selected: Array) -> _Histograms | None:
    part = Block(block.logits[selected], block.labels[selected], block.done)
    return _histograms(uncalibrated, plan, part, 0) if len(part.labels) else None


def _scorer(uncalibrated: Scorer, histograms: _Histograms, plan: Plan) -> Scorer:
    fit = partial(ExponentialCalibration.fit_pairs, at_most_one=plan.at_most_one)
    none_known = histograms.none.hits.sum() > 0 and uncalibrated.head.log_none is not None
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
    parts = (calibration(cross_fitted[i], block.logits[fold == i], block.labels[fold == i]) for i in np.unique(fold))
    before = calibration(uncalibrated, block.logits, block.labels)
    return _Evaluation(before, reduce(add, parts), _validation(scorer, block, first))


def _validation(scorer: Scorer, block: Block, first: int) -> Selection:
    return Selection.histogram(*Answers.of(scorer, block.logits, block.labels))
