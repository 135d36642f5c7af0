"""`slova fit --stream`: the exponential map from sketches of a fixed size, so that a file of any length can be fitted.

One pass fills a sketch of each fold; sums of sketches give the map of all rows and, for each fold, that of the other
rows. A second pass scores every row with the map that did not see it, and keeps what a promised risk needs.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from operator import add

import numpy as np

from slova.backend import Array
from slova.calibration import ExponentialCalibration, PairSketch, SmallValidationWarning
from slova.cli.fit import FOLDS, FitOptions, Fitted
from slova.cli.measures import Added, Answers, calibration
from slova.cli.terminal import tracked
from slova.heads import NONE
from slova.metrics import Ece, Selection
from slova.scorer import HEADS, Scorer
from slova.tables import Table

__all__ = ["fit_stream"]


@dataclass(frozen=True)
class _Sketches(Added):
    """What the rows of a fold leave behind: their pairs, those of "is it none?", and how many rows they were."""

    pairs: PairSketch
    none: PairSketch
    rows: int


@dataclass(frozen=True)
class _Judged(Added):
    """ECE of the bare head, ECE of the maps that did not see the rows, and what the validation set looks like."""

    before: Ece
    after: Ece
    validation: Selection


def fit_stream(options: FitOptions) -> Fitted:
    bare = Scorer(classes=options.table.classes(), head=HEADS[options.head])
    folds = _folds(bare, options)
    whole = reduce(add, folds)
    scorer = _scorer(bare, whole, options)
    judges = _judges(bare, folds, options)
    blocks = _numbered(options.table, "judging")
    judged = reduce(add, (_judge(bare, scorer, judges or [bare] * FOLDS, *block) for block in blocks))
    after = judged.after.value if judges else None
    nones = int(whole.none.hits.sum())
    return Fitted(replace(scorer, validation=judged.validation), whole.rows, nones, judged.before.value, after)


def _folds(bare: Scorer, options: FitOptions) -> list[_Sketches]:
    """The sketches of each fold that has rows."""
    folds: dict[int, _Sketches] = {}
    for logits, labels, fold in _numbered(options.table, "reading"):
        for number in np.unique(fold).tolist():
            new = _sketches(bare, logits[fold == number], labels[fold == number], options)
            folds[number] = folds[number] + new if number in folds else new
    return [folds[number] for number in sorted(folds)]


def _numbered(table: Table, label: str) -> Iterator[tuple[Array, Array, Array]]:
    """Logits, labels and the fold of each row, by a scrambled row number: the same however the file is cut up."""
    first = 0
    for block in tracked(table.blocks(labelled=True), label):
        row = np.arange(first, first + len(block.labels), dtype=np.uint64)
        scrambled = (row * np.uint64(2654435761) >> np.uint64(16)) % np.uint64(1 << 16)
        yield block.logits, block.labels, (scrambled * np.uint64(FOLDS) >> np.uint64(16)).astype(np.int64)
        first += len(row)


def _sketches(bare: Scorer, logits: Array, labels: Array, options: FitOptions) -> _Sketches:
    log_probs, log_none = bare(logits)
    is_none = np.where(labels == NONE, 0, NONE)  # of the one class "none"
    pairs = PairSketch.of(log_probs, labels, which=options.pairs or "all")
    return _Sketches(pairs, PairSketch.of(log_none[:, None], is_none), len(labels))


def _scorer(bare: Scorer, sketches: _Sketches, options: FitOptions) -> Scorer:
    fit = partial(ExponentialCalibration.fit_pairs, loss=options.loss or "squared", at_most_one=options.at_most_one)
    none_known = sketches.none.hits.sum() > 0 and options.head != "softmax"
    return replace(
        bare,
        map=None if options.map_name == "none" else fit(sketches.pairs.pairs),
        none_map=ExponentialCalibration.fit_pairs(sketches.none.pairs, at_most_one=True) if none_known else None,
    )


def _judges(bare: Scorer, folds: Sequence[_Sketches], options: FitOptions) -> list[Scorer]:
    """For each fold the scorer that did not see it; empty where there are too few rows to leave some out."""
    if len(folds) < FOLDS or min(fold.rows for fold in folds) < 2:
        return []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SmallValidationWarning)  # said once, of the whole set
        return [_scorer(bare, reduce(add, [*folds[:i], *folds[i + 1 :]]), options) for i in range(FOLDS)]


def _judge(bare: Scorer, scorer: Scorer, judges: list[Scorer], logits: Array, labels: Array, fold: Array) -> _Judged:
    parts = (calibration(judges[i], logits[fold == i], labels[fold == i]) for i in np.unique(fold))
    kept = Selection.histogram(*Answers.of(scorer, logits, labels))
    return _Judged(calibration(bare, logits, labels), reduce(add, parts), kept)
