"""Multilabel classification: the most probable set of labels, and the probability that it is exactly right (Remark
3.1).

Logits are (N, K), one binary decision per label, and targets (N, K) are zeros and ones. The most probable set is
{k: p_k >= 1/2}, a row of booleans, and P(exactly this set) = prod_k max(p_k, 1 - p_k) if labels are independent given
the input. As they are not, this probability is calibrated on validation data. Each label can be calibrated first, by a
scale and an offset, which also changes the sets.

>>> rng = np.random.default_rng(0)
>>> targets = rng.integers(2, size=(500, 3))
>>> logits = 4 * targets - 2 + rng.normal(0, 2, (500, 3))
>>> scorer = SetScorer.fit(logits, targets)
>>> sets, confidence, probs = scorer.predict(logits)                    # a SetPrediction
>>> sets[0], confidence[0].round(3), probs[0].round(3)
(array([ True,  True,  True]), np.float64(0.443), array([0.652, 0.775, 0.89 ]))
>>> subset_accuracy(sets, targets), round(hamming(sets, targets), 3)
(0.596, 0.161)
>>> round(set_ece(confidence, sets, targets), 3), round(set_nll(logits, targets), 3)
(0.064, 1.057)
>>> round(scorer.threshold(risk=0.2), 3)
0.833
>>> scorer.save("sets.slova")
>>> LabelCalibration([1, 1, 2], [0, 0, -1])(logits[:1]).round(1)
array([[0.6, 1.2, 3.2]])
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from slova import artifact
from slova._backend import Array, floating, to_numpy
from slova._types import (
    BatchFloats,
    ClassNumbers,
    Confidence,
    LogitRows,
    Logits,
    Probs,
    SetRows,
    Sets,
    TargetRows,
)
from slova._validation import check_confidence, check_logits
from slova.calibration import CALIBRATORS, AffineCalibration, Calibrator, resolve
from slova.heads import NONE, log_multilabel, log_ova
from slova.metrics import Selection
from slova.metrics.binning import BinCounts
from slova.thresholds import threshold_for

__all__ = ["LabelCalibration", "SetPrediction", "SetScorer", "hamming", "set_ece", "set_nll", "subset_accuracy"]

RARE = 10  # a label with fewer positive or negative rows uses the calibration shared by all labels

Bools = NDArray[np.bool_]


class SetPrediction(NamedTuple):
    """The most probable sets (N, K) as booleans, the calibrated probability that each is exactly right (N,), and the
    probability of each label (N, K)."""

    sets: Sets
    confidence: BatchFloats
    probs: Probs


@dataclass(frozen=True, eq=False)
class LabelCalibration:
    """An affine calibrator of the logits of each label: f_k -> scale_k f_k + offset_k."""

    scale: ClassNumbers
    offset: ClassNumbers

    def __post_init__(self) -> None:
        scale, offset = np.asarray(self.scale, np.float64), np.asarray(self.offset, np.float64)
        if scale.ndim != 1 or scale.shape != offset.shape or not ((scale > 0) & np.isfinite(scale + offset)).all():
            raise ValueError(f"scale must be positive and offset finite, got {self.scale} and {self.offset}")
        object.__setattr__(self, "scale", scale)
        object.__setattr__(self, "offset", offset)

    def __call__(self, logits: Logits) -> Logits:
        logits, ops = check_logits(logits)
        if logits.shape[-1] != len(self.scale):
            raise ValueError(f"logits {tuple(logits.shape)} do not have the {len(self.scale)} calibrated labels")
        return ops.like(self.scale, logits) * logits + ops.like(self.offset, logits)

    @classmethod
    def fit(cls, logits: LogitRows, targets: TargetRows) -> LabelCalibration:
        """Fit K logistic regressions of one variable. A label with fewer than 10 positive or negative rows uses the
        scale and offset that are fitted on all labels together."""
        logits, wanted = _check_targets(logits, targets)
        common = _affine(logits.ravel(), wanted.ravel())
        count = wanted.sum(axis=0)
        known = np.minimum(count, len(wanted) - count) >= RARE
        fits = [_affine(logits[:, k], wanted[:, k]) if known[k] else common for k in range(logits.shape[1])]
        return cls(np.array([found.scale for found in fits]), np.array([found.offset for found in fits]))


PARTS = ("before", "calibrator", "validation")
VALUES: dict[str, type] = {**CALIBRATORS, "LabelCalibration": LabelCalibration, "Selection": Selection}


@dataclass(frozen=True, kw_only=True)
class SetScorer:
    """A calibrated model of sets of labels: the number of labels (None: any), the calibrations of labels and of sets,
    and the validation results. The calibrator of sets gets one probability per row, so it must be elementwise."""

    labels: int | None = None
    before: LabelCalibration | None = None
    calibrator: Calibrator | None = None
    validation: Selection | None = None

    def __post_init__(self) -> None:
        if self.calibrator is not None and not self.calibrator.elementwise:
            raise ValueError(
                f"{type(self.calibrator).__name__} calibrates whole rows, but a set has one probability: the "
                "calibrator must be elementwise, such as ExponentialCalibration or BetaCalibration"
            )

    @classmethod
    def fit(
        cls,
        logits: LogitRows,
        targets: TargetRows,
        *,
        by_label: bool = False,
        calibration: str | Callable[..., Calibrator] | None = "exponential",
    ) -> SetScorer:
        """Fit on validation logits and targets (N, K). The sets stay what they were; with `by_label`, each label is
        calibrated first, which gives better marginals and other sets, not always better ones. `calibration`, as in
        `Scorer.fit`, is of the probability of the set, as (N, 1), with label 0 if the set was right, else NONE."""
        logits, wanted = _check_targets(logits, targets)
        fit = resolve(calibration)
        scorer = cls(labels=wanted.shape[1], before=LabelCalibration.fit(logits, targets) if by_label else None)
        moved = scorer.logits(logits)
        right = ((moved >= 0) == wanted).all(axis=1)
        log_probs = log_multilabel(moved)[:, None]
        fitted = None if fit is None else fit(log_probs, np.where(right, 0, NONE))
        confidence = replace(scorer, calibrator=fitted).predict(logits).confidence.astype(np.float64)
        return replace(scorer, calibrator=fitted, validation=Selection.histogram(confidence, right))

    def logits(self, logits: Logits) -> Logits:
        """One-vs-all logits after the calibration of each label."""
        logits, _ = check_logits(logits)
        if self.labels not in (None, logits.shape[-1]):
            raise ValueError(f"logits {tuple(logits.shape)} do not have the {self.labels} labels of this scorer")
        return logits if self.before is None else self.before(logits)

    def predict(self, logits: Logits) -> SetPrediction:
        """The most probable set of each row, its calibrated probability, and the probability of each label."""
        moved = self.logits(logits)
        ops = floating(moved, "logits")[1]
        whole = log_multilabel(moved)[..., None]
        confidence = ops.exp(whole if self.calibrator is None else self.calibrator(whole))[..., 0]
        return SetPrediction(moved >= 0, confidence, ops.exp(log_ova(moved)))

    def threshold(
        self, *, risk: float | None = None, coverage: float | None = None, delta: float | None = 0.05
    ) -> float:
        """The smallest confidence to answer with for a given risk or coverage, see `slova.thresholds.threshold_for`.

        With `by_label` the sets themselves were fitted on the validation set, which the guarantee does not cover.
        """
        if self.validation is None:
            raise ValueError("threshold requires a scorer that was fitted on a validation set")
        return threshold_for(self.validation, risk=risk, coverage=coverage, delta=delta)

    def save(self, path: str | Path) -> None:
        tensors, meta = artifact.pack_parts(self, PARTS, VALUES)
        artifact.save(path, "set scorer", tensors, {"labels": self.labels, **meta})

    @classmethod
    def load(cls, path: str | Path) -> SetScorer:
        tensors, meta = artifact.load(path, "set scorer")
        return cls(labels=meta.get("labels"), **artifact.unpack_parts(tensors, meta, dict.fromkeys(PARTS, VALUES)))


def subset_accuracy(sets: SetRows, targets: TargetRows) -> float:
    """The share of rows whose set is exactly right."""
    return float((_matching(sets, targets) == _bools(targets, "targets")).all(axis=1).mean())


def hamming(sets: SetRows, targets: TargetRows) -> float:
    """The share of wrong labels among all N K labels."""
    return float((_matching(sets, targets) != _bools(targets, "targets")).mean())


def set_ece(confidence: Confidence, sets: SetRows, targets: TargetRows, *, bins: int = 15) -> float:
    """ECE of the confidence (N,) in "exactly this set", in bins of equal width."""
    right = (_matching(sets, targets) == _bools(targets, "targets")).all(axis=1)
    column = check_confidence(confidence, "confidence")
    if column.shape != right.shape:
        raise ValueError(f"confidence {column.shape} does not match sets {np.shape(sets)}")
    return BinCounts.binned(column, right, bins, "width").value


def set_nll(logits: LogitRows, targets: TargetRows) -> float:
    """Mean of -log P(exactly the labels that are true), the value of `multilabel_loss`."""
    logits, wanted = _check_targets(logits, targets)
    return float(-log_ova(np.where(wanted, logits, -logits).astype(np.float64)).sum(axis=1).mean())


def _affine(logits: Array, wanted: Bools) -> AffineCalibration:
    """One label is a one-vs-all problem with one class."""
    return AffineCalibration.fit(logits[:, None], np.where(wanted, 0, NONE))


def _check_targets(logits: Array, targets: Array) -> tuple[Array, Bools]:
    logits, wanted = floating(to_numpy(logits), "logits")[0], _bools(targets, "targets")
    if logits.shape != wanted.shape:
        raise ValueError(f"targets {wanted.shape} do not match logits {logits.shape}")
    return logits, wanted


def _matching(sets: Array, targets: Array) -> Bools:
    found = _bools(sets, "sets")
    if found.shape != np.shape(targets):
        raise ValueError(f"sets {found.shape} do not match targets {tuple(np.shape(targets))}")
    return found


def _bools(values: Array, name: str) -> Bools:
    array = to_numpy(values)
    if array.ndim != 2 or 0 in array.shape:
        raise ValueError(f"{name} must have shape (N, K) with at least one row and one label, got {array.shape}")
    if not np.isin(array, (0, 1)).all():
        raise ValueError(f"{name} must be zeros and ones, got values from {array.min()} to {array.max()}")
    return np.asarray(array, bool)
