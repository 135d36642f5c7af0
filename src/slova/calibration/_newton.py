"""Newton's method with lower bounds, for convex functions of a few hundred numbers, and a logistic regression by it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]
Objective = Callable[
    [Vector], tuple[float, Vector, Callable[[], Vector]]
]  # value, gradient, and how to get the Hessian

HALVINGS = 40
FLAT = 1e-3  # a feature that varies less, relative to its mean, is constant: its slope would magnify rounding errors
RIDGE = 0.005  # of a logistic regression, per row and standard deviation: rows that stand in for others are too easy


def newton(objective: Objective, start: Vector, lower: Vector, *, tolerance: float, steps: int = 100) -> Vector:
    """The minimum over numbers that are at least `lower`, to within about `tolerance` of its value.

    Projected Newton steps (Bertsekas 1982): numbers at their bound that would leave it are held, the others take a
    Newton step, which is shortened until the value falls, or until it can gain less than the tolerance, as at a kink.
    """
    numbers = np.maximum(start, lower)
    value, gradient, hessian = objective(numbers)
    for _ in range(steps):
        free = (numbers > lower) | (gradient < 0)
        step = np.zeros_like(numbers)
        step[free] = _solve(hessian()[np.ix_(free, free)], -gradient[free])
        gain = -gradient @ step
        for length in 0.5 ** np.arange(HALVINGS):
            if length * gain <= tolerance:
                return numbers
            trial = np.maximum(numbers + length * step, lower)
            found = objective(trial)
            if found[0] <= value + 1e-4 * gradient @ (trial - numbers):
                break
        else:
            return numbers
        numbers, (value, gradient, hessian) = trial, found
    return numbers


def bounded_logistic(features: Vector, hits: Vector, weight: Vector) -> Vector:
    """Intercept and slopes, none of these negative, of the likeliest logistic regression of `hits` (N,), both kinds
    among them."""
    total = weight.sum()
    middle = weight @ features / total
    spread = np.sqrt(weight @ (features - middle) ** 2 / total)
    spread = np.where(spread > FLAT * (1 + np.abs(middle)), spread, 1.0)
    design = np.column_stack([np.ones(len(hits)), (features - middle) / spread])
    ridge = np.append(0.0, np.full(features.shape[1], RIDGE * total))

    def objective(numbers: Vector) -> tuple[float, Vector, Callable[[], Vector]]:
        logit = design @ numbers
        probs = np.exp(-np.logaddexp(0, -logit))
        value = weight @ (np.logaddexp(0, logit) - hits * logit) + ridge @ numbers**2 / 2
        gradient = design.T @ (weight * (probs - hits)) + ridge * numbers
        return float(value), gradient, lambda: (design.T * (weight * probs * (1 - probs))) @ design + np.diag(ridge)

    share = weight @ hits / total
    start = np.append(np.log(share / (1 - share)), np.full(features.shape[1], 0.1))
    lower = np.append(-np.inf, np.zeros(features.shape[1]))
    found = newton(objective, start, lower, tolerance=1e-8 * total)
    slopes = found[1:] / spread
    return np.append(found[0] - slopes @ middle, slopes)


def _solve(matrix: Vector, right: Vector) -> Vector:
    """Of a positive semi-definite system; what rounding left indefinite is lifted a little."""
    scale = np.trace(matrix) / max(len(matrix), 1)
    for lift in (1e-12, 1e-8, 1e-4):
        lifted = matrix + lift * scale * np.eye(len(matrix))
        try:
            np.linalg.cholesky(lifted)  # is it positive definite?
        except np.linalg.LinAlgError:
            continue
        return np.asarray(np.linalg.solve(lifted, right))
    return np.asarray(right / max(scale, 1e-300))
