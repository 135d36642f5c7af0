"""Prediction sets: the outcomes that an input may have, K classes and NONE, with a guaranteed coverage.

>>> probs = np.array([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.5, 0.4, 0.1]])     # (N, K + 1), NONE last
>>> sets = PredictionSets.fit(np.repeat(probs, 20, axis=0), np.repeat([0, 1, 1], 20), coverage=0.9)
>>> sets(probs)                                                               # booleans (N, K + 1)
array([[ True, False, False],
       [False,  True, False],
       [ True,  True, False]])

Split conformal prediction with the probability of the true outcome as score (LAC; Sadinle, Lei & Wasserman 2019): an
outcome is a member if its probability is at least a threshold, a low quantile of the scores. It is used rather than APS
(Romano et al. 2020) because it needs no random numbers, gives the smallest sets on average where the probabilities are
right, and extends to one threshold per outcome.

Theorem. Let the N rows and a new input be exchangeable, for example independent draws from one distribution, and let
the probabilities not be fitted on the rows. With t the k-th smallest score, k = floor((1 - coverage) (N + 1)), the
true outcome of the new input is a member with probability at least `coverage`, whatever the probabilities: its score
is equally likely to have any rank among the N + 1, so it is below t with probability at most k / (N + 1). With k = 0
every outcome is a member. The probability is over the draw of the rows and of the input (marginal coverage): one
class may be covered less often and another more often. With `per_class` the same holds for the N_y rows of each
outcome y, given that y is the true outcome (class-conditional coverage), where (1 - coverage) (N_y + 1) >= 1: 19 rows
for 95 %. Other outcomes take the threshold of all rows, without a guarantee of their own, and `conditional` is False
for them. The most probable outcome is always a member, which only raises the coverage.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from slova._backend import floating
from slova._types import Labels, OutcomeFlags, OutcomeRows, Outcomes
from slova._validation import NONE, Flags, Floats, Ints, check_labels, check_probs

__all__ = ["PredictionSets"]


@dataclass(frozen=True, eq=False)
class PredictionSets:
    """A threshold of probability per outcome (K + 1,), the coverage that they give, and for which outcomes it is
    guaranteed given that outcome (K + 1,).

    >>> PredictionSets([0.3, 0.3, 0.1], 0.9, [False] * 3)(np.array([[0.5, 0.4, 0.1], [0.2, 0.75, 0.05]]))
    array([[ True,  True,  True],
           [False,  True, False]])
    """

    thresholds: Floats
    coverage: float
    conditional: Flags

    def __post_init__(self) -> None:
        thresholds, conditional = np.array(self.thresholds, np.float64), np.array(self.conditional, bool)
        if thresholds.ndim != 1 or thresholds.shape != conditional.shape or not np.all(np.abs(thresholds - 0.5) <= 0.5):
            raise ValueError(f"thresholds must be probabilities, one per outcome, got {self.thresholds}")
        object.__setattr__(self, "thresholds", thresholds)
        object.__setattr__(self, "conditional", conditional)

    @classmethod
    def fit(
        cls, probs: OutcomeRows, labels: Labels, *, coverage: float = 0.95, per_class: bool = False
    ) -> PredictionSets:
        """From probabilities (N, K + 1), NONE last, and labels (N,) of rows that fitted nothing else."""
        rows = check_probs(probs)
        if rows.shape[1] < 2:
            raise ValueError(f"probs must have shape (n_rows, n_classes + 1), NONE last, got {rows.shape}")
        column = check_labels(labels, rows[:, :-1], "the classes of probs")
        outcomes = np.where(column == NONE, rows.shape[1] - 1, column)
        return cls.from_scores(rows[np.arange(len(rows)), outcomes], outcomes, rows.shape[1], coverage, per_class)

    @classmethod
    def from_scores(
        cls, scores: Floats, outcomes: Ints, count: int, coverage: float = 0.95, per_class: bool = False
    ) -> PredictionSets:
        """From the probabilities (N,) of the true outcomes (N,), of which there are `count`, NONE last."""
        if not 0 < coverage < 1:
            raise ValueError(f"coverage must lie in (0, 1), got {coverage}")
        thresholds = np.full(count, _threshold(scores, coverage) or 0.0)
        conditional = np.zeros(count, bool)
        for outcome in np.unique(outcomes) if per_class else ():
            own = _threshold(scores[outcomes == outcome], coverage)
            if own is not None:
                thresholds[outcome], conditional[outcome] = own, True
        return cls(thresholds, coverage, conditional)

    def __call__(self, probs: Outcomes) -> OutcomeFlags:
        """The members of each row (..., K + 1) as booleans."""
        probs, ops = floating(probs, "probs")
        if probs.shape[-1] != len(self.thresholds):
            raise ValueError(
                f"probs must have shape (..., {len(self.thresholds)}), NONE last, got {tuple(probs.shape)}"
            )
        return (probs >= ops.like(self.thresholds, probs)) | (probs >= ops.top(probs)[0])


def _threshold(scores: Floats, coverage: float) -> float | None:
    """The k-th smallest score, or None if the rows are too few."""
    k = int((1 - coverage) * (len(scores) + 1) + 1e-9)  # (1 - 0.9) 10 is 1
    return float(np.partition(scores, k - 1)[k - 1]) if k else None
