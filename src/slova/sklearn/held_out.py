"""Calibration of a `SlovaClassifier` on rows its members had not seen: out of fold, or batches ahead of training.

The map is fitted to the top class of each row, for its confidence is what is read and promised: of all pairs of a row
and a class with p = 0.3, the few in which the class is the top one are hits far more often than the rest. c(1) may be
less than one, for trees and naive Bayes are wrong with a probability of one.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.model_selection import StratifiedKFold, check_cv
from sklearn.utils.metaestimators import _safe_split

from slova.calibration import ExponentialCalibration, PairHistogram, SmallValidationWarning
from slova.heads import NONE, Readout
from slova.scorer import Scorer
from slova.sklearn.members import Labels, Logits, Weight, fit_members

__all__ = ["Evidence", "Held", "fit_scorer", "held_out", "splits"]


class Held(NamedTuple):
    """The logits of rows by members that had not seen them, with what is true of these rows."""

    logits: Logits
    labels: Labels
    weight: Weight

    @classmethod
    def of(cls, logits: Logits, labels: Labels, weight: Weight) -> Held:
        """A row of weight 0 is no row."""
        if weight is None:
            return cls(logits, labels, None)
        return cls(logits[weight > 0], labels[weight > 0], weight[weight > 0])

    @classmethod
    def nothing(cls, classes: int) -> Held:
        return cls(np.empty((0, classes)), np.empty(0, np.int64), None)


def splits(cv: Any, X: Any, labels: Labels) -> list[Any]:
    """The (train, test) rows of each fold. Folds given as a number are stratified, with NONE rows as one more class,
    and at most as many as the largest class has rows: where that is one row, there are none."""
    if cv is not None and not isinstance(cv, int | np.integer):
        return list(check_cv(cv, labels, classifier=True).split(X, labels))
    count = np.unique(labels, return_counts=True)[1]
    folds = min(5 if cv is None else int(cv), int(count.max()))
    if count.min() < folds:
        message = f"the smallest class has {count.min()} rows for {folds} folds: expect its calibration to be rough"
        warnings.warn(message, SmallValidationWarning, stacklevel=4)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The least populated class", UserWarning)
        return [] if count.max() < 2 else list(StratifiedKFold(folds).split(np.zeros(len(labels)), labels))


def held_out(base: Any, X: Any, labels: Labels, weight: Weight, folds: list[Any], **options: Any) -> Held:
    """Every held-out row of every fold, scored by members that were fitted on the rest."""
    parts = [_fold(base, X, labels, weight, train, test, options) for train, test in folds]
    if not parts:
        return Held.nothing(options["classes"])
    logits, held, weights = zip(*parts, strict=True)
    return Held(np.concatenate(logits), np.concatenate(held), None if weight is None else np.concatenate(weights))


def _fold(
    base: Any, X: Any, labels: Labels, weight: Weight, train: Labels, test: Labels, options: dict[str, Any]
) -> Held:
    if np.intersect1d(train, test).size:
        raise ValueError(f"cv holds out {np.intersect1d(train, test).size} rows that it also trains on")
    seen, unseen = _safe_split(base, X, None, train)[0], _safe_split(base, X, None, test, train)[0]
    trained, held = (None, None) if weight is None else (weight[train], weight[test])
    return Held.of(fit_members(base, seen, labels[train], trained, **options).logits(unseen), labels[test], held)


def fit_scorer(held: Held, *, rescale: bool) -> Scorer:
    """The scorer that these rows calibrate, or one that is not calibrated where there are none, with a warning."""
    if not len(held.labels):
        message = "no row is there that the members have not seen: the confidence is their own, not calibrated"
        warnings.warn(message, SmallValidationWarning, stacklevel=3)
        return Scorer(classes=held.logits.shape[1])
    fit = partial(ExponentialCalibration.fit, which="top", at_most_one=True)
    return Scorer.fit(held.logits, held.labels, calibration=fit, rescale=rescale, weight=held.weight)


@dataclass(frozen=True)
class Evidence:
    """What rows scored before they were trained on have shown of the members' calibration, in a fixed size.

    Members learn, so a map for those of today is not fitted to those of the first batch as if they were the same: a
    row counts by the share of all scored rows that had been scored by then.
    """

    top: PairHistogram
    none: PairHistogram
    rows: int

    @classmethod
    def of(cls, readout: Readout, labels: Labels) -> Evidence:
        none = PairHistogram.of(readout.log_none[:, None], np.where(labels == NONE, 0, NONE))
        return cls(PairHistogram.of(readout.log_probs, labels, which="top"), none, len(labels))

    def then(self, later: Evidence) -> Evidence:
        rows = self.rows + later.rows
        share = self.rows / rows
        return Evidence(_scaled(self.top, share) + later.top, _scaled(self.none, share) + later.none, rows)

    def calibrated(self, scorer: Scorer) -> Scorer:
        fit = partial(ExponentialCalibration.fit_pairs, at_most_one=True)
        none_calibrator = fit(self.none.pairs) if self.none.hits.any() else None
        return replace(scorer, calibrator=fit(self.top.pairs), none_calibrator=none_calibrator, validation=None)


def _scaled(sketch: PairHistogram, share: float) -> PairHistogram:
    return replace(sketch, count=share * sketch.count, hits=share * sketch.hits, total=share * sketch.total)
