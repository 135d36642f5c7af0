"""Calibration by distance: the further an input is from the validation data, the less is made of its logits.

One-vs-all logits (..., K) with p = sigmoid(logits), and distances (..., D) of the same inputs, none of them negative:

    log_softmax(a log p - b log(1 - p)),   a = yes[0] - sum_j yes[j] distance_j,   b = no[0] - sum_j no[j] distance_j

the two numbers of beta calibration, which fall with the distances. To be further away can make nothing surer: no number
is negative. Nothing was learned beyond the `reach` of the fit, its largest distances: from one and a half times as far
on, a and b are made smaller, and from twice as far on all classes are nearly alike, however large their logits.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from slova._backend import NUMPY, Array, floating, to_numpy
from slova.calibration.pairs import check_rows, check_weight
from slova.heads import NONE, log_softmax

__all__ = ["DistanceCalibration", "sharpened"]

HOME = float(np.log(2))  # how far images at home are, at least, so that a layer without spread is no reason to give up
FLOOR = 0.01  # between the first class and the last however far away: their order is kept, and no more
EDGE, END = 1.5, 2.0  # times as far as anything in the fit: where the map begins to give up, and where it has
RIDGE = 1e-4  # decides where the data do not: at distances that are all alike, or logits that are never wrong


@dataclass(frozen=True, eq=False)
class DistanceCalibration:
    """`yes` and `no`, 1 + D numbers each, and `reach`, D numbers, or endless. With 1 and no slopes nothing changes:

    >>> np.exp(DistanceCalibration([1, 0], [1, 0])(np.log([[0.9, 0.1]]), np.array([[7.0]]))).round(3)
    array([[0.9, 0.1]])
    """

    yes: Array
    no: Array
    reach: Array | None = None

    def __post_init__(self) -> None:
        yes, no = (np.asarray(numbers, np.float64) for numbers in (self.yes, self.no))
        if yes.shape != no.shape or yes.ndim != 1 or not yes.size:
            raise ValueError(f"wanted as many numbers for yes as for no, got shapes {yes.shape} and {no.shape}")
        if not (np.isfinite([yes, no]).all() and min(yes.min(), no.min()) >= 0):
            raise ValueError(f"wanted finite numbers that are not negative, got {yes} and {no}")
        reach = np.full(len(yes) - 1, np.inf) if self.reach is None else np.asarray(self.reach, np.float64)
        if reach.shape != (len(yes) - 1,) or not (reach > 0).all():
            raise ValueError(f"wanted a reach of {len(yes) - 1} positive numbers, got {reach}")
        for name, numbers in (("yes", yes), ("no", no), ("reach", reach)):
            object.__setattr__(self, name, numbers)

    def __call__(self, logits: Array, distances: Array) -> Array:
        return sharpened(logits, distances, self.yes, self.no, self.reach)

    @classmethod
    def fit(cls, logits: Array, distances: Array, labels: Array, *, weight: Array | None = None) -> DistanceCalibration:
        """The likeliest numbers: first of the map without its floor, a convex problem, and from there of the map
        itself. A NONE row wants all classes alike; `weight` is how often each row counts."""
        from scipy.optimize import minimize

        logits, labels = check_rows(logits, labels, "logits")
        factors = _factors(distances, len(labels))
        counts = np.ones(len(labels)) if weight is None else check_weight(weight, labels)
        logits = np.clip(logits.astype(np.float64), -1e4, 1e4)  # finite, so that 0 times a logit is 0
        terms = np.stack([-NUMPY.softplus(-logits), NUMPY.softplus(logits)])
        wanted = np.where(labels[:, None] == NONE, 1 / logits.shape[1], np.arange(logits.shape[1]) == labels[:, None])
        numbers = np.zeros((2, factors.shape[1]))
        numbers[:, 0] = 0.5
        for floor in (-np.inf, 0.0):
            found = minimize(
                _loss,
                numbers.ravel(),
                args=(factors, terms, (terms * wanted).sum(axis=-1), counts / counts.sum(), floor),
                jac=True,
                bounds=[(0.0, None)] * numbers.size,
                method="L-BFGS-B",
                options={"ftol": 1e-14, "gtol": 1e-8, "maxiter": 1000},
            )
            numbers = found.x.reshape(numbers.shape)
        return cls(numbers[0], numbers[1], np.maximum(-factors[:, 1:].min(axis=0, initial=0), HOME))


def sharpened(logits: Array, distances: Array, yes: Array, no: Array, reach: Array) -> Array:
    """The map itself, for numpy arrays and torch tensors."""
    logits, ops = floating(logits, "logits")
    distances = ops.like(distances, logits)
    if distances.shape != (*logits.shape[:-1], len(yes) - 1):
        wanted = (*logits.shape[:-1], len(yes) - 1)
        raise ValueError(f"wanted distances of shape {tuple(wanted)}, got {tuple(distances.shape)}")
    logits = ops.clip(logits, -1e30, 1e30)  # finite, so that 0 times a logit is 0
    floor = FLOOR / (1 + ops.top(logits)[0] + ops.top(-logits)[0])
    factors = (
        (numbers[0] - (distances * numbers[1:]).sum(-1))[..., None]
        for numbers in (ops.like(yes, logits), ops.like(no, logits))
    )
    near = ops.clip((END - distances / ops.like(reach, logits)) / (END - EDGE), 0.0, 1.0).prod(-1)[..., None]
    a, b = (ops.where(near * factor > floor, near * factor, floor) for factor in factors)
    return log_softmax(b * ops.softplus(logits) - a * ops.softplus(-logits))


def _factors(distances: Array, rows: int) -> Array:
    """1 and minus the distances, what `yes` and `no` are multiplied by."""
    distances = to_numpy(distances).astype(np.float64)
    if distances.ndim != 2 or len(distances) != rows:
        raise ValueError(f"wanted distances of {rows} rows, got shape {distances.shape}")
    if not (np.isfinite(distances).all() and (distances >= 0).all()):
        raise ValueError("distances must be finite and not negative")
    return np.column_stack([np.ones(rows), -distances])


def _loss(numbers: Array, factors: Array, terms: Array, own: Array, shares: Array, floor: float) -> tuple[float, Array]:
    """With its derivative, of the map whose a and b are no less than the floor."""
    numbers = numbers.reshape(2, -1)
    sharpness = numbers @ factors.T
    a, b = np.maximum(sharpness, floor)
    scores = a[:, None] * terms[0] + b[:, None] * terms[1]
    log_total = NUMPY.logsumexp(scores)
    excess = ((np.exp(scores - log_total[:, None]) * terms).sum(axis=-1) - own) * (sharpness > floor)
    loss = shares @ (log_total - a * own[0] - b * own[1]) + RIDGE / 2 * np.sum(numbers**2)
    return float(loss), ((shares * excess) @ factors + RIDGE * numbers).ravel()
