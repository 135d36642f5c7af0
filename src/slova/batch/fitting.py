"""A scorer from sketches of a fixed size: a map and a reduce, so that any number of rows can be fitted, anywhere.

One pass fills a sketch of each fold; sums of sketches give the map of all rows and, for each fold, that of the other
rows. A second pass scores every row with the map that did not see it, and keeps what a promised risk needs.
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
from slova.batch.measures import Added, Answers, calibration
from slova.batch.rows import Rows
from slova.calibration import ExponentialCalibration, PairHistogram, SmallValidationWarning
from slova.heads import NONE
from slova.io import Block
from slova.metrics import Ece, Selection
from slova.scorer import HEADS, Scorer

__all__ = ["FOLDS", "Fitted", "Plan", "fitted", "judged"]

FOLDS = 5


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What is to be fitted: the exponential map, or none, behind a head."""

    head: str = "slova"
    map: Literal["exponential", "none"] = "exponential"
    pairs: Literal["all", "top"] = "all"
    at_most_one: bool = False


class Fitted(NamedTuple):
    """A scorer, the rows it saw, and two ECEs: of the bare head, and of maps judged by rows that they did not see."""

    scorer: Scorer
    rows: int
    none_rows: int
    before: float
    after: float | None


def fitted(rows: Rows, plan: Plan) -> Scorer:
    """The scorer alone, without folds."""
    bare = Scorer(classes=rows.classes, head=HEADS[plan.head])
    scorer = _scorer(bare, rows.fold(partial(_sketches_of, bare, plan)), plan)
    return replace(scorer, validation=rows.fold(partial(_validation, scorer)))


def judged(rows: Rows, plan: Plan) -> Fitted:
    """The same scorer, with what it is worth on rows that it did not see."""
    bare = Scorer(classes=rows.classes, head=HEADS[plan.head])
    folds = rows.fold(partial(_folds, bare, plan)).known
    whole = reduce(add, folds)
    scorer = _scorer(bare, whole, plan)
    judges = _judges(bare, folds, plan)
    found = rows.fold(partial(_judge, bare, scorer, judges or [bare] * FOLDS))
    after = found.after.value if judges else None
    nones = int(whole.none.hits.sum())
    return Fitted(replace(scorer, validation=found.validation), whole.rows, nones, found.before.value, after)


@dataclass(frozen=True)
class _Sketches(Added):
    """What rows leave behind: their pairs, those of "is it none?", and how many rows they were."""

    pairs: PairHistogram
    none: PairHistogram
    rows: int


@dataclass(frozen=True)
class _Folds:
    """The sketches of each fold, None for one without rows."""

    sketches: tuple[_Sketches | None, ...]

    def __add__(self, other: _Folds) -> _Folds:
        return _Folds(tuple(map(_sum, self.sketches, other.sketches)))

    @property
    def known(self) -> list[_Sketches]:
        return [sketches for sketches in self.sketches if sketches is not None]


@dataclass(frozen=True)
class _Judged(Added):
    """ECE of the bare head, ECE of the maps that did not see the rows, and what the validation set looks like."""

    before: Ece
    after: Ece
    validation: Selection


def _sum(left: _Sketches | None, right: _Sketches | None) -> _Sketches | None:
    return left + right if left and right else left or right


def _folds(bare: Scorer, plan: Plan, block: Block, first: int) -> _Folds:
    fold = _fold_numbers(first, len(block.labels))
    return _Folds(tuple(_sketches(bare, plan, block, fold == number) for number in range(FOLDS)))


def _fold_numbers(first: int, rows: int) -> Array:
    """By a scrambled row number: the same however the rows are cut up."""
    row = np.arange(first, first + rows, dtype=np.uint64)
    scrambled = (row * np.uint64(2654435761) >> np.uint64(16)) % np.uint64(1 << 16)
    return (scrambled * np.uint64(FOLDS) >> np.uint64(16)).astype(np.int64)


def _sketches_of(bare: Scorer, plan: Plan, block: Block, first: int) -> _Sketches:
    log_probs, log_none = bare(block.logits)
    is_none = np.where(block.labels == NONE, 0, NONE)  # of the one class "none"
    pairs = PairHistogram.of(log_probs, block.labels, which=plan.pairs)
    return _Sketches(pairs, PairHistogram.of(log_none[:, None], is_none), len(block.labels))


def _sketches(bare: Scorer, plan: Plan, block: Block, some: Array) -> _Sketches | None:
    part = Block(block.logits[some], block.labels[some], block.done)
    return _sketches_of(bare, plan, part, 0) if len(part.labels) else None


def _scorer(bare: Scorer, sketches: _Sketches, plan: Plan) -> Scorer:
    fit = partial(ExponentialCalibration.fit_pairs, at_most_one=plan.at_most_one)
    none_known = sketches.none.hits.sum() > 0 and plan.head != "softmax"
    return replace(
        bare,
        map=None if plan.map == "none" else fit(sketches.pairs.pairs),
        none_map=ExponentialCalibration.fit_pairs(sketches.none.pairs, at_most_one=True) if none_known else None,
    )


def _judges(bare: Scorer, folds: Sequence[_Sketches], plan: Plan) -> list[Scorer]:
    """For each fold the scorer that did not see it; empty where there are too few rows to leave some out."""
    if len(folds) < FOLDS or min(fold.rows for fold in folds) < 2:
        return []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SmallValidationWarning)  # said once, of the whole set
        return [_scorer(bare, reduce(add, [*folds[:i], *folds[i + 1 :]]), plan) for i in range(FOLDS)]


def _judge(bare: Scorer, scorer: Scorer, judges: list[Scorer], block: Block, first: int) -> _Judged:
    fold = _fold_numbers(first, len(block.labels))
    parts = (calibration(judges[i], block.logits[fold == i], block.labels[fold == i]) for i in np.unique(fold))
    before = calibration(bare, block.logits, block.labels)
    return _Judged(before, reduce(add, parts), _validation(scorer, block, first))


def _validation(scorer: Scorer, block: Block, first: int) -> Selection:
    return Selection.histogram(*Answers.of(scorer, block.logits, block.labels))
