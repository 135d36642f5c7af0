"""Statistics of channels from few images, and the distances that images of the fit would have if they were new.

The covariance (C, C) of N images is singular where N < C. Channels are brought to one variance, and their correlations
are shrunk to none by the share of Ledoit and Wolf (2004), which minimises the expected squared error and is found by a
formula. Images that the statistics were computed from are too near to them; `held_out` gives their distances from the
statistics of all other images, by a rank-one formula, in place of N fits.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from slova._backend import Array
from slova.vision.features import FeatureStatistics

__all__ = ["ShrunkStatistics"]

LEAST = 1e-3  # of the mean variance, for channels and directions in which the validation images hardly vary


@dataclass(frozen=True)
class ShrunkStatistics:
    """Statistics of `images` validation images whose correlations were shrunk by `shrinkage`, a share in [0, 1]."""

    statistics: FeatureStatistics
    shrinkage: float
    images: int

    @classmethod
    def of(cls, channels: Array) -> ShrunkStatistics:
        """Of the channels (N, C) of one layer."""
        channels = np.asarray(channels, np.float64)
        count, width = channels.shape
        mean, variance = channels.mean(axis=0), channels.var(axis=0)
        scale = np.sqrt(variance + LEAST * variance.mean() + 1e-12)
        standard = (channels - mean) / scale
        covariance = standard.T @ standard / count
        shrinkage = _ledoit_wolf(standard, covariance)
        size = np.trace(covariance) / width + 1e-12
        shrunk = (1 - shrinkage) * covariance + shrinkage * size * np.eye(width)
        whiten = np.linalg.inv(np.linalg.cholesky(shrunk)).T / scale[:, None]
        return cls(FeatureStatistics(mean, whiten), shrinkage, count)

    def square(self, channels: Array) -> Array:
        """The squared distance (N,) of new images, divided by the number of channels."""
        return self.statistics.square(np.asarray(channels, np.float64))

    def held_out(self, channels: Array, of: Array) -> Array:
        """The same for versions (N, C) of the images of the fit (N, C), in their order: row i by the statistics of all
        images but the i-th."""
        mean, whiten = self.statistics
        own = (np.asarray(of, np.float64) - mean) @ whiten
        others = max(self.images - 1, 1)
        moved = (np.asarray(channels, np.float64) - mean) @ whiten + own / others
        weight = (1 - self.shrinkage) / others
        left = np.maximum(1 - weight * (own**2).sum(axis=1), 1e-9)
        squares = (moved**2).sum(axis=1) + weight * (moved * own).sum(axis=1) ** 2 / left
        return np.asarray(squares / own.shape[1])


def _ledoit_wolf(standard: Array, covariance: Array) -> float:
    """The share of the identity, of centred rows (N, C) and their covariance; at least a thousandth."""
    count, width = standard.shape
    size, norm = np.trace(covariance) / width, (covariance**2).sum()
    distance = norm - width * size**2
    error = ((standard**2).sum(axis=1) @ (standard**2).sum(axis=1) / count - norm) / count
    return float(np.clip(error / distance if distance > 1e-12 else 1.0, LEAST, 1.0))
