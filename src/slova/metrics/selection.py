"""Selective prediction: the risk-coverage curve and the area under it (AURC).

The confidence is the largest of a row's probs; an error is a wrong top class, so a NONE row is always one. Risk is
the share of errors among the rows answered, coverage the share of rows answered, and a row is answered when its
confidence is at least the threshold.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from slova._mergeable import Estimate
from slova._types import Labels, ProbRows
from slova._validation import Flags, Floats, Ints, check_bins, top_class
from slova.metrics.binning import Counts, mass_bins, sums
from slova.metrics.confidence_histogram import CELLS, EDGES, ConfidenceHistogram

__all__ = ["RiskCoverage", "Selection", "aurc", "risk_coverage"]


@dataclass(frozen=True, eq=False)
class RiskCoverage:
    """One point per threshold, the most confident first; the last one answers every row."""

    coverage: Floats
    risk: Floats
    threshold: Floats


def risk_coverage(probs: ProbRows, labels: Labels) -> RiskCoverage:
    """The curve at every confidence that occurs: rows of equal confidence are answered together.

    >>> probs, labels = np.array([[0.7, 0.3], [0.2, 0.8], [0.6, 0.4]]), np.array([0, 1, 1])
    >>> curve = risk_coverage(probs, labels)                 # a RiskCoverage
    >>> curve.coverage.round(2), curve.risk.round(2), curve.threshold
    (array([0.33, 0.67, 1.  ]), array([0.  , 0.  , 0.33]), array([0.8, 0.7, 0.6]))
    """
    threshold, count, errors = _groups(probs, labels)
    return _curve(threshold, count, errors)


def aurc(probs: ProbRows, labels: Labels) -> float:
    """The mean, over n = 1..N, of the risk of the n most confident rows (Geifman et al. 2019).

    Tied rows share their errors evenly, which is the expectation over their order; so the order of rows does not
    matter.

    >>> probs, labels = np.array([[0.7, 0.3], [0.2, 0.8], [0.6, 0.4]]), np.array([0, 1, 1])
    >>> round(aurc(probs, labels), 3)
    0.111
    """
    _, count, errors = _groups(probs, labels)
    answered = np.arange(1, count.sum() + 1)
    expected = np.interp(answered, np.append(0, count.cumsum()), np.append(0, errors.cumsum()))
    return float((expected / answered).mean())


@dataclass(frozen=True, eq=False)
class Selection(ConfidenceHistogram):
    """The mergeable state of AURC, the risk-coverage curve and equal-mass ECE; `hits` are the correct rows."""

    @classmethod
    def of(cls, probs: ProbRows, labels: Labels) -> Self:
        return cls.histogram(*top_class(probs, labels))

    @classmethod
    def weighted(cls, confidence: Floats, hits: Flags, weight: Floats) -> Self:
        """Rows with weights. Whole numbers below a sum of 2^53 count a row that often; others give counts in floating
        point, scaled to the effective number of rows, (sum w)^2 / sum w^2."""
        some = weight > 0
        confidence, hits, weight = confidence[some], hits[some], weight[some]
        whole = bool((weight == np.floor(weight)).all() and weight.sum() < 2**53)  # beyond, floats are not exact
        weight = weight if whole else weight * (weight.sum() / np.square(weight).sum())
        cell = np.searchsorted(EDGES, confidence, side="right") - 1
        count, of_kind, total = (sums(cell, part, CELLS) for part in (weight, weight * hits, weight * confidence))
        seen = cls.histogram(confidence, hits)  # for the least and the largest
        if whole:
            return replace(seen, count=count.astype(np.int64), hits=of_kind.astype(np.int64), total=total)
        return replace(seen, count=count, hits=of_kind, total=total)

    @property
    def risk_coverage(self) -> RiskCoverage:
        """Exact points of the curve, one per cell that holds rows: the threshold is the cell's least confidence."""
        full = (self.count > 0)[::-1]
        return _curve(self.least[::-1][full], self.count[::-1][full], (self.count - self.hits)[::-1][full])

    @property
    def aurc(self) -> Estimate:
        """An uncertain cell lies between "its errors are its least confident rows" and "its most confident ones"."""
        n, e = self.count[::-1].astype(np.float64), (self.count - self.hits)[::-1].astype(np.float64)
        above, before = n.cumsum() - n, e.cumsum() - e
        tied = _risks(before, e / np.maximum(n, 1.0), above, n)
        best = _risks(before, 0.0, above, n - e) + _risks(before, 1.0, above + n - e, e)
        worst = _risks(before, 1.0, above, e) + _risks(before + e, 0.0, above + e, n - e)
        unsure = self.uncertain[::-1]
        low, high = np.where(unsure, best, tied).sum() / n.sum(), np.where(unsure, worst, tied).sum() / n.sum()
        return Estimate.between(low, high)

    def ece(self, *, bins: int = 15) -> Estimate:
        """The equal-mass ECE. A cell whose ranks lie in one bin is known. The rows of another one, of residuals h - c
        that sum to at most P = hits (1 - least) above and M = misses largest below zero, may belong to other bins:
        moving them changes sum_b |residuals of b| by at most 2 max(P, M)."""
        rows, ends = self.count.sum(), self.count.cumsum()
        index = np.minimum(mass_bins(self.count, check_bins(bins)), bins - 1)  # empty cells past the last row
        value = np.abs(sums(index, self.hits - self.total, bins)).sum() / rows
        first, last = (2 * (ends - self.count) + 1) * bins // (2 * rows), (2 * ends - 1) * bins // (2 * rows)
        torn = self.uncertain & (first < last)
        hits, misses = self.hits[torn], (self.count - self.hits)[torn]
        above, below = hits * (1.0 - self.least[torn]), misses * self.largest[torn]
        return Estimate(float(value), float(2.0 * np.maximum(above, below).sum() / rows))


def _groups(probs: ProbRows, labels: Labels) -> tuple[Floats, Ints, Ints]:
    """Each distinct confidence, largest first, with its rows and its errors."""
    confidence, hits = top_class(probs, labels)
    values, group, count = np.unique(confidence, return_inverse=True, return_counts=True)
    errors = np.bincount(group[~hits], minlength=len(values))
    return values[::-1], count[::-1], errors[::-1]


def _curve(threshold: Floats, count: Counts, errors: Counts) -> RiskCoverage:
    answered = count.cumsum()
    return RiskCoverage(answered / answered[-1], errors.cumsum() / answered, threshold)


def _risks(errors: Floats, slope: Floats | float, above: Floats, rows: Floats) -> Floats:
    """The sum of (errors + slope j) / (above + j) over j = 1..rows, by harmonic numbers."""
    from scipy.special import digamma

    harmonic: Floats = digamma(above + rows + 1.0) - digamma(above + 1.0)
    return slope * rows + (errors - slope * above) * harmonic
