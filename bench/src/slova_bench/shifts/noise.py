"""Noise: every value of every pixel changed on its own. uint8 (N, C, H, W) in, [0, 1] out (clipped by the caller)."""

from __future__ import annotations

import numpy as np

from slova._backend import Array
from slova_bench.shifts.per_image_rng import Draws

__all__ = ["gaussian_noise", "impulse_noise", "shot_noise", "speckle_noise"]


def gaussian_noise(images: Array, draws: Draws, deviation: float) -> Array:
    """Electronic noise: the same deviation everywhere."""
    return images / 255 + deviation * draws.normal(*images.shape[1:])


def shot_noise(images: Array, draws: Draws, photons: float) -> Array:
    """Counts of light: white is this many photons on average, so the deviation grows with the root of the light."""
    return draws.poisson(images / 255 * photons) / photons


def impulse_noise(images: Array, draws: Draws, share: float) -> Array:
    """Salt and pepper: this share of the values becomes 0 or 1, with equal chance."""
    hit = draws.uniform(0, 1, *images.shape[1:]) <= share
    salt = draws.uniform(0, 1, *images.shape[1:]) <= 0.5
    return np.where(hit, salt, images / 255)


def speckle_noise(images: Array, draws: Draws, deviation: float) -> Array:
    """Noise in proportion to the light."""
    return images / 255 * (1 + deviation * draws.normal(*images.shape[1:]))
