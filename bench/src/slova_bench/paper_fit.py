"""The paper's own fit of exponential calibration, for reproduction. `ExponentialCalibration.fit` finds the optimum."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch

from slova._backend import Array
from slova.calibration import ExponentialCalibration, Pairs
from slova.calibration.exponential import smoothed
from slova.calibration.mixture import Mixture, Points
from slova_bench.stable import stable

__all__ = ["fit_paper", "paper_mixture"]

BATCH, RATE, EPSILON = 32, 0.1, 1e-7  # the last is that of Keras


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
    first = (start, generator.normal(0, np.sqrt(2 / terms), terms))
    logs, scores = (torch.tensor(numbers, requires_grad=True) for numbers in first)
    adam = torch.optim.Adam([logs, scores], lr=RATE, eps=EPSILON)
    t, target = torch.from_numpy(np.minimum(points.t, 1e300)), torch.from_numpy(points.target)
    for _ in range(epochs):
        for batch in torch.split(torch.from_numpy(generator.permutation(len(t))), BATCH):
            adam.zero_grad()
            powers = (-t[batch, None] * logs.exp()).exp()
            (powers @ scores.softmax(0) - target[batch]).square().mean().backward()  # type: ignore[no-untyped-call]
            adam.step()
    mixture = Mixture(logs.detach().exp().numpy(), scores.detach().softmax(0).numpy())
    return replace(mixture, error=float(points.weight @ (mixture.at(points.t) - points.target) ** 2))
