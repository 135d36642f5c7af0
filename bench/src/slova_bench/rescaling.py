"""Calibrators that divide the logits of an image by a temperature of its own: T = columns @ coefficients + offset."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.optimize import minimize
from scipy.special import softmax

from slova._backend import Array

__all__ = ["fit_coefficients", "temperatures"]

LOWEST = 1e-2  # temperature: a smaller or negative one is raised to it


def temperatures(columns: Array, coefficients: Array, offset: float = 0.0) -> Array:
    """The temperature (N,) of each row."""
    found: Array = np.maximum(columns @ coefficients + offset, LOWEST)
    return found


def fit_coefficients(
    logits: Array,
    labels: Array,
    columns: Array,
    *,
    start: Sequence[float],
    bounds: Sequence[tuple[float, float]],
    weight: Array,
    offset: float = 0.0,
) -> Array:
    """The coefficients of least weighted squared error of the probabilities, by L-BFGS-B. The target of a row labelled
    NONE is zero for every class."""
    targets = (labels[:, None] == np.arange(logits.shape[1])).astype(np.float64)
    share = weight / weight.sum()

    def loss(coefficients: Array) -> tuple[float, Array]:
        free = columns @ coefficients + offset > LOWEST
        scale = temperatures(columns, coefficients, offset)[:, None]
        probs = softmax(logits / scale, axis=1)
        error = probs - targets
        mean = (probs * logits).sum(axis=1, keepdims=True)
        slope = (2 * error * probs * (mean - logits) / scale**2).sum(axis=1)  # of the error of a row, in T
        return float(share @ (error**2).sum(axis=1)), columns.T @ (share * slope * free)

    found: Array = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds, tol=1e-12).x
    return found
