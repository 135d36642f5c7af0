"""The paper's own fit of exponential calibration, for reproduction. `ExponentialCalibration.fit` finds the optimum."""

from __future__ import annotations

import numpy as np

from slova._backend import Array
from slova.calibration import ExponentialCalibration, Pairs
from slova.calibration.exponential import smoothed
from slova.calibration.mixture import Mixture, Points, Vector
from slova_bench.stable import stable

__all__ = ["fit_paper", "paper_mixture"]

BATCH, RATE, DECAYS = 32, 0.1, (0.9, 0.999)


@stable("exponential_paper")
def fit_paper(
    log_probs: Array,
    labels: Array,
    *,
    terms: int = 20,
    epochs: int = 20,
    points: int | None = 4000,
    window: float | None = None,
    seed: int = 0,
) -> ExponentialCalibration:
    """Fit by Adam, with `terms` exponents and weights (M), `points` moving averages (n_b) and `epochs` passes."""
    pairs = Pairs.of(log_probs, labels)
    averages = smoothed(pairs, window=window, points=points)
    return ExponentialCalibration.from_mixture(paper_mixture(averages, terms=terms, epochs=epochs, seed=seed), pairs)


def paper_mixture(points: Points, *, terms: int = 20, epochs: int = 20, seed: int = 0) -> Mixture:
    """Adam in mini-batches of 32 from log alpha = linspace(-20, 20) and random weights, as in the authors' code, except
    that log alpha is updated instead of alpha: a negative alpha would map probabilities out of the unit interval."""
    if terms < 1 or epochs < 0:
        raise ValueError(f"terms must be at least 1 and epochs at least 0, got {terms} and {epochs}")
    generator = np.random.default_rng(seed)
    start = np.linspace(-20, 20, terms) if terms > 1 else np.zeros(1)
    state = [np.append(start, generator.normal(0, np.sqrt(2 / terms), terms)), np.zeros(2 * terms), np.zeros(2 * terms)]
    step = 0
    for _ in range(epochs):
        order = generator.permutation(len(points.t))
        for first in range(0, len(order), BATCH):
            batch = order[first : first + BATCH]
            step += 1
            _adam(state, _gradient(state[0], points.t[batch], points.target[batch]), step)
    exponents, weights = _numbers(state[0])
    mixture = Mixture(exponents, weights)
    return Mixture(exponents, weights, float(points.weight @ (mixture.at(points.t) - points.target) ** 2))


def _numbers(parameters: Vector) -> tuple[Vector, Vector]:
    logs, scores = np.split(parameters, 2)
    weights = np.exp(scores - scores.max())
    return np.exp(logs), weights / weights.sum()


def _gradient(parameters: Vector, t: Vector, target: Vector) -> Vector:
    exponents, weights = _numbers(parameters)
    powers = np.exp(-np.minimum(t, 1e300)[:, None] * exponents)
    residual = 2 * (powers @ weights - target) / len(t)
    by_exponent = -((residual * np.where(np.isinf(t), 0.0, t)) @ powers) * weights * exponents
    by_weight = residual @ powers
    return np.append(by_exponent, weights * (by_weight - by_weight @ weights))


def _adam(state: list[Vector], gradient: Vector, step: int) -> None:
    parameters, mean, square = state
    mean += (1 - DECAYS[0]) * (gradient - mean)
    square += (1 - DECAYS[1]) * (gradient**2 - square)
    parameters -= RATE * (mean / (1 - DECAYS[0] ** step)) / (np.sqrt(square / (1 - DECAYS[1] ** step)) + 1e-7)
