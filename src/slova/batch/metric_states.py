"""Metrics of rows, computed by mergeable states. Label and confidence are those that `slova score` writes."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import partial
from typing import NamedTuple, Self

import numpy as np

from slova._backend import Array
from slova._validation import Flags, Floats
from slova.batch.map_reduce import Rows, check_scorer
from slova.heads import NONE
from slova.io import Block
from slova.metrics import Accuracy, Brier, Detection, Ece, Estimate, Mmc, Nll, Selection
from slova.scorer import Scorer

__all__ = [
    "BINS",
    "Answers",
    "FieldwiseSum",
    "LabelledMetrics",
    "OodMetrics",
    "Values",
    "compute_metrics",
]

BINS = 15

Values = dict[str, float | Estimate]
"""Metrics by name; an Estimate where the states determine a value only within a bound."""


def compute_metrics(rows: Rows, scorer: Scorer, ood: Rows | None = None) -> Values:
    """All metrics of labelled rows. NONE rows and the rows of `ood`, which need no labels, are the OOD rows of AUROC,
    AUPR and FPR95."""
    check_scorer(rows, scorer)
    known = rows.fold(partial(_block_metrics, scorer))
    others = known.ood
    if ood is not None:
        check_scorer(ood, scorer)
        others += ood.fold(partial(_ood_metrics, scorer), labelled=False)
    counts: Values = {"rows": known.labelled.mmc.count, "ood_rows": others.mmc.count}
    return counts | known.labelled.values() | others.values()


class Answers(NamedTuple):
    """The confidence of each row (N,), and whether its top class is correct; for a NONE row it never is."""

    confidence: Floats
    hits: Flags

    @classmethod
    def of(cls, scorer: Scorer, logits: Array, labels: Array = NONE) -> Answers:
        prediction = scorer.predict(logits)
        return cls(np.asarray(prediction.confidence, np.float64), np.asarray(prediction.top == labels))


@dataclass(frozen=True)
class FieldwiseSum:
    """A tuple of states that merges field by field."""

    def __add__(self, other: Self) -> Self:
        return type(self)(*(getattr(self, field.name) + getattr(other, field.name) for field in fields(self)))


@dataclass(frozen=True)
class LabelledMetrics(FieldwiseSum):
    """The states of labelled rows: NLL and Brier of the distribution over the K classes and NONE, the others of the
    top class."""

    accuracy: Accuracy
    nll: Nll
    brier: Brier
    ece: Ece
    mmc: Mmc
    selection: Selection

    @classmethod
    def of(cls, scorer: Scorer, block: Block, answers: Answers) -> LabelledMetrics:
        log_probs, log_none = scorer(block.logits)
        outcomes = np.exp(np.column_stack([log_probs, log_none]))
        return cls(
            Accuracy(float(answers.hits.sum()), len(answers.hits), 0.0),
            Nll.of(log_probs, block.labels, log_none=log_none),
            Brier.of(outcomes, np.where(block.labels == NONE, outcomes.shape[1] - 1, block.labels)),
            Ece.binned(*answers, BINS, "width"),
            Mmc(float(answers.confidence.sum()), len(answers.hits)),
            Selection.histogram(*answers),
        )

    def values(self) -> Values:
        return {
            "accuracy": self.accuracy.value,
            "nll": self.nll.value,
            "brier": self.brier.value,
            "ece": self.ece.value,
            "ece_mass": self.selection.ece(bins=BINS),
            "mmc": self.mmc.value,
            "aurc": self.selection.aurc,
        }


@dataclass(frozen=True)
class OodMetrics(FieldwiseSum):
    """The states of OOD detection: the confidences of both kinds of rows, and the mean confidence of OOD rows."""

    detection: Detection
    mmc: Mmc

    @classmethod
    def of(cls, confidence: Floats, labels: Array = None) -> OodMetrics:
        """NONE rows are OOD; without labels all rows are."""
        is_ood = np.ones(len(confidence), np.bool_) if labels is None else labels == NONE
        mmc = Mmc(float(confidence[is_ood].sum()), int(is_ood.sum()))
        return cls(Detection.of(confidence[~is_ood], confidence[is_ood]), mmc)

    def values(self) -> Values:
        """Empty if there are no OOD rows, or nothing else."""
        if not 0 < self.mmc.count < self.detection.count.sum():
            return {}
        found = self.detection
        return {"auroc": found.auroc, "aupr": found.aupr, "fpr95": found.fpr95, "ood_mmc": self.mmc.value}


@dataclass(frozen=True)
class _AllMetrics(FieldwiseSum):
    labelled: LabelledMetrics
    ood: OodMetrics


def _block_metrics(scorer: Scorer, block: Block, first: int) -> _AllMetrics:
    answers = Answers.of(scorer, block.logits, block.labels)
    return _AllMetrics(LabelledMetrics.of(scorer, block, answers), OodMetrics.of(answers.confidence, block.labels))


def _ood_metrics(scorer: Scorer, block: Block, first: int) -> OodMetrics:
    return OodMetrics.of(Answers.of(scorer, block.logits).confidence)
