"""Distance calibration: the further an input is from the validation data, the less confident its log-probabilities.

One-vs-all log-odds (..., K) with p = sigmoid(log_odds), and distances (..., D) of the same inputs, none negative:

    log_softmax(a log p - b log(1 - p)),   a = positive_weights[0] - sum_j positive_weights[j] distance_j
                                           b = negative_weights[0] - sum_j negative_weights[j] distance_j

These are the numbers of beta calibration, decreasing with the distances: all weights are >= 0, so a larger distance
never raises the confidence. `max_distance` holds the largest distances of the fit: from 1.5 times these on, a and b
shrink, and from 2 times on all classes have nearly the same probability, however large their log-odds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from slova._backend import NUMPY, Array, floating
from slova._types import (
    DistanceLimits,
    DistanceRows,
    Distances,
    DistanceWeights,
    Labels,
    LogOdds,
    LogOddsRows,
    LogProbs,
    Weight,
)
from slova._validation import check_distances, check_rows, check_weight
from slova.calibration.posterior import NEAREST, floored, steepness
from slova.heads import NONE, log_softmax

__all__ = ["DistanceCalibration"]

RIDGE = 1e-4  # makes the optimum unique: where all distances are equal, or the log-odds are never wrong


@dataclass(frozen=True, eq=False)
class DistanceCalibration:
    """`positive_weights` and `negative_weights`, 1 + D numbers each, and `max_distance`, D numbers, or infinite. With
    weights of 1 and 0 it is softmax:

    >>> np.exp(DistanceCalibration([1, 0], [1, 0])(np.log([[0.9, 0.1]]), np.array([[7.0]]))).round(3)
    array([[0.9, 0.1]])
    """

    positive_weights: DistanceWeights
    negative_weights: DistanceWeights
    max_distance: DistanceLimits | None = None

    name: ClassVar[str] = "distance"
    takes: ClassVar[str] = "log_odds"
    elementwise: ClassVar[bool] = False
    order_preserving: ClassVar[bool] = True

    def __post_init__(self) -> None:
        positive, negative = (np.array(w, np.float64) for w in (self.positive_weights, self.negative_weights))
        if positive.shape != negative.shape or positive.ndim != 1 or not positive.size:
            raise ValueError(
                f"there must be as many positive as negative weights, got shapes {positive.shape} and {negative.shape}"
            )
        if not (np.isfinite([positive, negative]).all() and min(positive.min(), negative.min()) >= 0):
            raise ValueError(f"weights must be finite and not negative, got {positive} and {negative}")
        count = len(positive) - 1
        furthest = np.full(count, np.inf) if self.max_distance is None else np.array(self.max_distance, np.float64)
        if furthest.shape != (count,) or not (furthest > 0).all():
            raise ValueError(f"max_distance must be {count} positive numbers, got {furthest}")
        fields = {"positive_weights": positive, "negative_weights": negative, "max_distance": furthest}
        for name, numbers in fields.items():
            object.__setattr__(self, name, numbers)

    def __call__(self, log_odds: LogOdds, distances: Distances) -> LogProbs:
        log_odds, ops = floating(log_odds, "log_odds")
        distances, shape = ops.like(distances, log_odds), (*log_odds.shape[:-1], len(self.positive_weights) - 1)
        if distances.shape != shape:
            raise ValueError(f"distances must have shape {tuple(shape)}, got {tuple(distances.shape)}")
        log_odds = ops.clip(log_odds, -1e30, 1e30)  # finite, so that 0 times them is 0
        fields = (self.positive_weights, self.negative_weights, self.max_distance)
        factors = steepness(distances, *(ops.like(numbers, log_odds) for numbers in fields), ops=ops)
        a, b = floored(factors, log_odds, ops)
        return log_softmax(b * ops.softplus(log_odds) - a * ops.softplus(-log_odds))

    @classmethod
    def fit(
        cls, log_odds: LogOddsRows, labels: Labels, *, distances: DistanceRows, weight: Weight | None = None
    ) -> DistanceCalibration:
        """The weights of maximum likelihood: first without the floor, a convex problem, and from there with it. The
        target of a NONE row is the same probability for all classes."""
        from scipy.optimize import minimize

        log_odds, labels = check_rows(log_odds, labels, "log_odds")
        factors = np.column_stack([np.ones(len(labels)), -check_distances(distances, labels)])
        counts = np.ones(len(labels)) if weight is None else check_weight(weight, labels)
        log_odds = np.clip(log_odds.astype(np.float64), -1e4, 1e4)  # finite, so that 0 times them is 0
        terms, classes = np.stack([-NUMPY.softplus(-log_odds), NUMPY.softplus(log_odds)]), log_odds.shape[1]
        targets = np.where(labels[:, None] == NONE, 1 / classes, np.arange(classes) == labels[:, None])
        numbers = np.zeros((2, factors.shape[1]))
        numbers[:, 0] = 0.5
        for floor in (-np.inf, 0.0):
            found = minimize(
                _loss,
                numbers.ravel(),
                args=(factors, terms, (terms * targets).sum(axis=-1), counts / counts.sum(), floor),
                jac=True,
                bounds=[(0.0, None)] * numbers.size,
                method="L-BFGS-B",
                options={"ftol": 1e-14, "gtol": 1e-8, "maxiter": 1000},
            )
            numbers = found.x.reshape(numbers.shape)
        return cls(numbers[0], numbers[1], np.maximum(-factors[:, 1:].min(axis=0, initial=0), NEAREST))


def _loss(numbers: Array, factors: Array, terms: Array, own: Array, shares: Array, floor: float) -> tuple[float, Array]:
    """The loss and its derivative, with a and b at least the floor."""
    numbers = numbers.reshape(2, -1)
    sharpness = numbers @ factors.T
    a, b = np.maximum(sharpness, floor)
    scores = a[:, None] * terms[0] + b[:, None] * terms[1]
    log_total = NUMPY.logsumexp(scores)
    excess = ((np.exp(scores - log_total[:, None]) * terms).sum(axis=-1) - own) * (sharpness > floor)
    loss = shares @ (log_total - a * own[0] - b * own[1]) + RIDGE / 2 * np.sum(numbers**2)
    return float(loss), ((shares * excess) @ factors + RIDGE * numbers).ravel()
