"""Expected calibration error: the mean distance between confidence and accuracy over bins.

Top-label: the confidence is the largest of a row's probs, a hit is a correct top class; a NONE row is never a hit.
Class-wise: the confidence is p_k, a hit is "the label is k"; averaged over classes (Kull et al. 2019).
The bins are those of `slova.metrics.binning`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from slova._mergeable import Mergeable
from slova._types import Labels, ProbRows
from slova._validation import check_labels, check_probs, top_class
from slova.metrics.binning import BinCounts

__all__ = ["ClasswiseEce", "Ece", "classwise_ece", "ece"]


def ece(probs: ProbRows, labels: Labels, *, bins: int = 15, binning: str = "width", debiased: bool = False) -> float:
    """Top-label ECE: the sum over bins of (rows of the bin / N) |accuracy - mean confidence|.

    Noise alone makes it positive. debiased=True gives an L2 error whose square is unbiased (`BinCounts.debiased`).

    >>> import numpy as np
    >>> ece(np.array([[0.75, 0.25], [0.75, 0.0]]), np.array([0, 1]))
    0.25
    """
    counts = BinCounts.binned(*top_class(probs, labels), bins, binning)
    return counts.debiased if debiased else counts.value


def classwise_ece(
    probs: ProbRows, labels: Labels, *, bins: int = 15, binning: str = "width", debiased: bool = False
) -> float:
    """The mean over classes k of the ECE of p_k as the confidence of "it is class k"; a NONE row is a miss for each.

    >>> import numpy as np
    >>> round(classwise_ece(np.array([[0.7, 0.3], [0.2, 0.8]]), np.array([0, 1])), 2)
    0.25
    """
    counts = BinCounts.stacked(_classes(probs, labels, bins, binning))
    return counts.debiased if debiased else counts.value


@dataclass(frozen=True, eq=False)
class Ece(BinCounts, Mergeable):
    """The mergeable state of the top-label ECE in bins of equal width; exact."""

    @classmethod
    def of(cls, probs: ProbRows, labels: Labels, *, bins: int = 15) -> Self:
        return cls.binned(*top_class(probs, labels), bins, "width")


@dataclass(frozen=True, eq=False)
class ClasswiseEce(BinCounts, Mergeable):
    """The mergeable state of the class-wise ECE in bins of equal width, (K, B); exact."""

    @classmethod
    def of(cls, probs: ProbRows, labels: Labels, *, bins: int = 15) -> Self:
        return cls.stacked(_classes(probs, labels, bins, "width"))


def _classes(probs: ProbRows, labels: Labels, bins: int, binning: str) -> list[BinCounts]:
    rows = check_probs(probs)
    column = check_labels(labels, rows, "probs")
    return [BinCounts.binned(p, column == k, bins, binning) for k, p in enumerate(rows.T)]
