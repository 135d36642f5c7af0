"""Distance-aware calibration: the further an image is from the validation images, the less confident its log-odds.

Distances d_j = log(1 + d^2 / channels) are those of Mahalanobis in the last layer of each resolution, on the channels
averaged over all pixels. Log-odds of a one-vs-all network, p = sigmoid(log-odds), become

    log_softmax(a log p - b log(1 - p)),   a = a_0 - sum_j a_j d_j,   b = b_0 - sum_j b_j d_j

with a_j, b_j >= 0, so that a larger distance never raises the confidence; the order of the classes does not change.
They are fitted to validation images, clean and degraded. From 1.5 times the largest distances of the fit on, a and b
shrink, and from 2 times on all classes have nearly the same probability.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from scipy.optimize import minimize
from torch import Tensor, nn

from slova._backend import NUMPY, TORCH, Array
from slova._batches import device_of
from slova.calibration.posterior import NEAREST, floored, steepness
from slova.heads import log_softmax
from slova.vision.degradations import degrade
from slova.vision.features import FeatureStatistics
from slova.vision.passes import Passes
from slova.vision.shift_aware import Outputs, ShiftOptions
from slova_bench.distances import BATCH, WithDistances, read_versions
from slova_bench.method import Splits
from slova_bench.stable import stable

__all__ = ["DistanceAware", "distance_aware", "fit_weights"]

CLEAN_WEIGHT = 6.0  # of a clean image, where a degraded one has 1; chosen on validation images
RIDGE = 1e-4  # makes the optimum unique: where all distances are equal, or the log-odds are never wrong


class DistanceAware(WithDistances):
    """A network whose outputs (N, K) are calibrated log-probabilities. `weights` (2, 1 + D) are a_j and b_j,
    `furthest` (D,) the largest distances of the fit."""

    weights: Tensor
    furthest: Tensor

    def __init__(self, network: nn.Sequential, passes: Passes, weights: Array, furthest: Array) -> None:
        super().__init__(network, passes)
        for name, numbers in (("weights", weights), ("furthest", furthest)):
            self.register_buffer(name, torch.as_tensor(numbers, dtype=torch.float32, device=device_of(network)))

    def forward(self, images: Tensor) -> Tensor:
        log_odds, distances = self.read(images)
        a, b = floored(
            steepness(distances, self.weights[0], self.weights[1], self.furthest, ops=TORCH), log_odds, TORCH
        )
        log_probs: Tensor = log_softmax(b * TORCH.softplus(log_odds) - a * TORCH.softplus(-log_odds))
        return log_probs


@stable("distance_aware")
def distance_aware(network: nn.Sequential, splits: Splits, *, views: str | None = None) -> nn.Sequential:
    """The network with distance-aware calibration, fitted on the validation images."""
    reader = read_versions(network, splits, ShiftOptions(shift_aware=True, degrade=_degrade, views=views))
    parts = [part for part in (reader.of("clean"), reader.of("degraded")) if part is not None]
    statistics = [FeatureStatistics.of(channels) for channels in parts[0].channels]
    distances = np.vstack([_distances(part, statistics) for part in parts])
    logits, labels = np.vstack([part.logits for part in parts]), splits.validation.labels.numpy()
    weights = fit_weights(logits, np.tile(labels, 2), distances, np.repeat([CLEAN_WEIGHT, 1.0], len(labels)))
    passes = Passes(dict(zip(reader.layers, statistics, strict=True)), views=views)
    return nn.Sequential(DistanceAware(network, passes, weights, np.maximum(distances.max(axis=0), NEAREST)))


def _degrade(images: Tensor, *, seed: int) -> Tensor:
    """By all kinds of degradations, with the number of the batch as the seed."""
    return degrade(images, seed=seed // BATCH)


def _distances(part: Outputs, statistics: Sequence[FeatureStatistics]) -> Array:
    squares = [layer.square(channels) for layer, channels in zip(statistics, part.channels, strict=True)]
    return np.log1p(np.stack(squares, axis=-1))


def fit_weights(log_odds: Array, labels: Array, distances: Array, weight: Array) -> Array:
    """a_j and b_j (2, 1 + D) of maximum likelihood: first without the floor at zero of a and b, a convex problem, and
    from there with it."""
    factors = np.column_stack([np.ones(len(labels)), -distances])
    log_odds = log_odds.astype(np.float64)
    terms = np.stack([-NUMPY.softplus(-log_odds), NUMPY.softplus(log_odds)])
    own = np.take_along_axis(terms, labels[None, :, None], axis=2)[:, :, 0]
    numbers = np.zeros((2, factors.shape[1]))
    numbers[:, 0] = 0.5
    for floor in (-np.inf, 0.0):
        found = minimize(
            _loss,
            numbers.ravel(),
            args=(factors, terms, own, weight / weight.sum(), floor),
            jac=True,
            bounds=[(0.0, None)] * numbers.size,
            method="L-BFGS-B",
            options={"ftol": 1e-14, "gtol": 1e-8, "maxiter": 1000},
        )
        numbers = found.x.reshape(numbers.shape)
    return numbers


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
