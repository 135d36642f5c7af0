"""Detection of OOD rows by confidence: AUROC, AUPR, FPR at 95 % TPR.

`inside` (N,) and `outside` (M,) are the confidences of in-distribution and of out-of-distribution rows. Larger means
more in-distribution, in-distribution is the positive class, and a row is accepted when its confidence is at least the
threshold. The functions are exact and take any finite confidence (only its order matters); for the state `Detection`
it must lie in [0, 1].
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from slova._mergeable import Estimate
from slova._types import Inside, Outside
from slova._validation import Floats, check_confidence, check_finite
from slova.metrics.confidence_histogram import ConfidenceHistogram

__all__ = ["Detection", "aupr", "auroc", "fpr95"]


def auroc(inside: Inside, outside: Outside) -> float:
    """The probability that an in-distribution row is more confident than an OOD row, ties counting half.

    >>> auroc(np.array([0.9, 0.5]), np.array([0.5, 0.1]))
    0.875
    """
    positive, negative = _sorted(inside, outside)
    below, upto = np.searchsorted(negative, positive, side="left"), np.searchsorted(negative, positive, side="right")
    return float((below.sum() + upto.sum()) / (2.0 * len(positive) * len(negative)))


def aupr(inside: Inside, outside: Outside) -> float:
    """Average precision: at each in-distribution row the share of such rows among those at least as confident, averaged
    over them; no interpolation.

    >>> round(aupr(np.array([0.9, 0.5]), np.array([0.6, 0.1])), 3)
    0.833
    """
    positive, negative = _sorted(inside, outside)
    accepted = len(positive) - np.searchsorted(positive, positive, side="left")
    false = len(negative) - np.searchsorted(negative, positive, side="left")
    return float((accepted / (accepted + false)).mean())


def fpr95(inside: Inside, outside: Outside) -> float:
    """The share of OOD rows accepted at the largest threshold that accepts 95 % of the in-distribution rows.

    >>> fpr95(np.array([0.9, 0.5]), np.array([0.6, 0.1]))
    0.5
    """
    positive, negative = _sorted(inside, outside)
    return float((negative >= positive[len(positive) - _kept(len(positive))]).mean())


@dataclass(frozen=True, eq=False)
class Detection(ConfidenceHistogram):
    """The mergeable state of the three; `hits` are the inside rows. A batch may lack one kind, a value needs both."""

    @classmethod
    def of(cls, inside: Inside, outside: Outside) -> Self:
        positive, negative = check_confidence(inside, "inside"), check_confidence(outside, "outside")
        both = np.concatenate([positive, negative])
        return cls.histogram(both, np.arange(len(both)) < len(positive))

    @property
    def auroc(self) -> Estimate:
        """Pairs in different cells are known, pairs in an uncertain cell count half and may each be half a pair off."""
        inside, outside = self._kinds()
        pairs = inside.sum() * outside.sum()
        wins = inside * (outside.sum() - outside.cumsum() + outside / 2.0)  # descending: what is left is less confident
        return Estimate(float(wins.sum() / pairs), float((inside * outside / 2.0)[self.uncertain[::-1]].sum() / pairs))

    @property
    def aupr(self) -> Estimate:
        """In an uncertain cell of a inside and b outside rows, below A and B such rows, the precision at the j-th
        inside row is at most (A + a) / (A + a + B) and at least (A + j) / (G + j) = 1 - (B + b) / (G + j), where
        G = A + B + b; and the sum of 1 / (G + j) over j = 1..a is at most a / (G + 1) and at most log(1 + a / G)."""
        inside, outside = self._kinds()
        accepted, false = inside.cumsum(), outside.cumsum()
        before = np.maximum(accepted - inside + false, 1.0)
        most = np.minimum(inside / (before + 1.0), np.log1p(inside / before))
        tied = inside * accepted / np.maximum(accepted + false, 1.0)
        best = inside * accepted / np.maximum(accepted + false - outside, 1.0)
        unsure = self.uncertain[::-1]
        low, high = np.where(unsure, inside - false * most, tied), np.where(unsure, best, tied)
        return Estimate.between(low.sum() / inside.sum(), high.sum() / inside.sum())

    @property
    def fpr95(self) -> Estimate:
        """The cell of the threshold is known; if it is uncertain, none or all of its outside rows may be accepted."""
        inside, outside = self._kinds()
        cell = int(np.searchsorted(inside.cumsum(), _kept(int(inside.sum()))))
        accepted = outside[: cell + 1].sum() / outside.sum()
        unknown = outside[cell] / outside.sum() if self.uncertain[::-1][cell] else 0.0
        return Estimate.between(accepted - unknown, accepted)

    def _kinds(self) -> tuple[Floats, Floats]:
        """The inside and outside rows of each cell, most confident first."""
        inside, outside = self.hits[::-1].astype(np.float64), (self.count - self.hits)[::-1].astype(np.float64)
        if not (inside.any() and outside.any()):
            counts = f"{inside.sum():.0f} inside and {outside.sum():.0f} outside"
            raise ValueError(f"rows of both kinds are needed, got {counts}")
        return inside, outside


def _sorted(inside: Inside, outside: Outside) -> tuple[Floats, Floats]:
    return np.sort(check_finite(inside, "inside")), np.sort(check_finite(outside, "outside"))


def _kept(rows: int) -> int:
    return -(-19 * rows // 20)  # 95 % of the rows, rounded up, without the rounding of 0.95
