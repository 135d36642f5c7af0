"""Metrics that are means over rows, with two sums as their state: accuracy, NLL, Brier, MMC.

probs and log_probs (N, K), labels (N,) with NONE = -1 for "none of the classes". Nothing is renormalised or clipped.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Self

import numpy as np

from slova._mergeable import SAME, SUM, Mergeable
from slova._types import Labels, LogNone, LogProbRows, ProbRows
from slova._validation import check_labels, check_log_none, check_log_probs, check_probs, check_share
from slova.heads import NONE

__all__ = ["Accuracy", "Brier", "Mmc", "Nll", "accuracy", "brier", "mmc", "nll"]


def accuracy(probs: ProbRows, labels: Labels, *, reject: float = 0.0) -> float:
    """Share of correct predictions: the top class (the first of a tie), or NONE where its confidence is below `reject`.

    A NONE row is correct exactly if it is rejected, a row of a class is wrong then; confidence = `reject` is accepted.

    >>> probs, labels = np.array([[0.7, 0.3], [0.6, 0.4]]), np.array([0, -1])
    >>> accuracy(probs, labels), accuracy(probs, labels, reject=0.65)
    (0.5, 1.0)
    """
    return Accuracy.of(probs, labels, reject=reject).value


def nll(log_probs: LogProbRows, labels: Labels, *, log_none: LogNone | None = None) -> float:
    """Mean of -log P(label), with log_none (N,) for the NONE rows; infinite where one label had probability zero.

    >>> round(nll(np.log([[0.7, 0.3], [0.2, 0.7]]), np.array([0, -1]), log_none=np.log([0.0001, 0.1])), 3)
    1.33
    """
    return Nll.of(log_probs, labels, log_none=log_none).value


def brier(probs: ProbRows, labels: Labels) -> float:
    """Mean of sum_k (p_k - t_k)^2, where t is one for the label, and all zero for NONE: in [0, 2] for sums <= 1.

    >>> brier(np.array([[0.5, 0.0]]), np.array([0])), brier(np.array([[0.5, 0.0]]), np.array([-1]))
    (0.25, 0.25)
    """
    return Brier.of(probs, labels).value


def mmc(probs: ProbRows) -> float:
    """Mean maximal confidence, whether correct or wrong.

    >>> mmc(np.array([[0.75, 0.25], [0.5, 0.5]]))
    0.625
    """
    return Mmc.of(probs).value


@dataclass(frozen=True)
class _Mean(Mergeable):
    total: float = field(metadata=SUM)
    count: int = field(metadata=SUM)

    @property
    def value(self) -> float:
        return self.total / self.count


@dataclass(frozen=True)
class Accuracy(_Mean):
    """The number of correct rows and the number of rows."""

    reject: float = field(metadata=SAME)

    @classmethod
    def of(cls, probs: ProbRows, labels: Labels, *, reject: float = 0.0) -> Self:
        rows = check_probs(probs)
        answers = np.where(rows.max(axis=1) < check_share(reject, "reject"), NONE, rows.argmax(axis=1))
        return cls(float((answers == check_labels(labels, rows, "probs")).sum()), len(rows), float(reject))


@dataclass(frozen=True)
class Nll(_Mean):
    """The sum of -log P(label) and the number of rows."""

    @classmethod
    def of(cls, log_probs: LogProbRows, labels: Labels, *, log_none: LogNone | None = None) -> Self:
        rows = check_log_probs(log_probs)
        column = check_labels(labels, rows, "log_probs")
        known = column != NONE
        if log_none is None and not known.all():
            raise ValueError(
                f"labels have {(~known).sum()} NONE rows: log_none must have shape {known.shape}, got None"
            )
        of_none = 0.0 if log_none is None else check_log_none(log_none, rows)[~known].sum()
        return cls(float(0.0 - rows[known, column[known]].sum() - of_none), len(rows))


@dataclass(frozen=True)
class Brier(_Mean):
    """The sum of squared distances and the number of rows."""

    @classmethod
    def of(cls, probs: ProbRows, labels: Labels) -> Self:
        rows = check_probs(probs)
        targets = np.arange(rows.shape[1]) == check_labels(labels, rows, "probs")[:, None]
        return cls(float(np.square(rows - targets).sum()), len(rows))


@dataclass(frozen=True)
class Mmc(_Mean):
    """The sum of the confidences and the number of rows."""

    @classmethod
    def of(cls, probs: ProbRows) -> Self:
        rows = check_probs(probs)
        return cls(float(rows.max(axis=1).sum()), len(rows))
