"""The metrics of rows, by states of blocks that merge. Label and confidence are those that `slova score` writes."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import partial
from typing import NamedTuple, Self

import numpy as np

from slova._backend import Array
from slova._validation import Flags, Floats
from slova.batch.rows import Rows, check_classes
from slova.heads import NONE
from slova.io import Block
from slova.metrics import Accuracy, Brier, Detection, Ece, Estimate, Mmc, Nll, Selection
from slova.scorer import Scorer

__all__ = ["BINS", "Added", "Answers", "Foreign", "Measures", "Values", "calibration", "measured"]

BINS = 15

Values = dict[str, float | Estimate]
"""Metrics by name; an Estimate where the states know a value only within a bound."""


def measured(rows: Rows, scorer: Scorer, ood: Rows | None = None) -> Values:
    """All metrics of labelled rows; NONE rows and those of `ood`, whose labels nobody asks for, are to be told from the
    others."""
    check_classes(rows, scorer)
    known = rows.fold(partial(_measured, scorer))
    foreign = known.foreign
    if ood is not None:
        check_classes(ood, scorer)
        foreign += ood.fold(partial(_foreign, scorer), labelled=False)
    counts: Values = {"rows": known.measures.mmc.count, "ood_rows": foreign.mmc.count}
    return counts | known.measures.values() | foreign.values()


class Answers(NamedTuple):
    """The confidence in each row's label (N,), and whether that label is right; a NONE row is never right."""

    confidence: Floats
    hits: Flags

    @classmethod
    def of(cls, scorer: Scorer, logits: Array, labels: Array = NONE) -> Answers:
        prediction = scorer.predict(logits)
        return cls(np.asarray(prediction.confidence, np.float64), np.asarray(prediction.label == labels))


def calibration(scorer: Scorer, logits: Array, labels: Array) -> Ece:
    return Ece.binned(*Answers.of(scorer, logits, labels), BINS, "width")


@dataclass(frozen=True)
class Added:
    """States side by side, which merge field by field."""

    def __add__(self, other: Self) -> Self:
        return type(self)(*(getattr(self, field.name) + getattr(other, field.name) for field in fields(self)))


@dataclass(frozen=True)
class Measures(Added):
    """What labelled blocks leave behind."""

    accuracy: Accuracy
    nll: Nll
    brier: Brier
    ece: Ece
    mmc: Mmc
    selection: Selection

    @classmethod
    def of(cls, scorer: Scorer, block: Block, answers: Answers) -> Measures:
        log_probs, log_none = scorer(block.logits)
        return cls(
            Accuracy(float(answers.hits.sum()), len(answers.hits), 0.0),
            Nll.of(log_probs, block.labels, log_none=log_none),
            Brier.of(np.exp(log_probs), block.labels),
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
class Foreign(Added):
    """What tells rows of a class from others: both kinds by confidence, and how confident the others are."""

    detection: Detection
    mmc: Mmc

    @classmethod
    def of(cls, confidence: Floats, labels: Array = None) -> Foreign:
        """NONE rows are the others; without labels all rows are."""
        others = np.ones(len(confidence), np.bool_) if labels is None else labels == NONE
        mmc = Mmc(float(confidence[others].sum()), int(others.sum()))
        return cls(Detection.of(confidence[~others], confidence[others]), mmc)

    def values(self) -> Values:
        """Empty where one of the kinds is missing."""
        if not 0 < self.mmc.count < self.detection.count.sum():
            return {}
        found = self.detection
        return {"auroc": found.auroc, "aupr": found.aupr, "fpr95": found.fpr95, "ood_mmc": self.mmc.value}


@dataclass(frozen=True)
class _Measured(Added):
    measures: Measures
    foreign: Foreign


def _measured(scorer: Scorer, block: Block, first: int) -> _Measured:
    answers = Answers.of(scorer, block.logits, block.labels)
    return _Measured(Measures.of(scorer, block, answers), Foreign.of(answers.confidence, block.labels))


def _foreign(scorer: Scorer, block: Block, first: int) -> Foreign:
    return Foreign.of(Answers.of(scorer, block.logits).confidence)
