"""Noise: every value is changed independently. uint8 (N, C, H, W) in, [0, 1] out (clipped by the caller)."""

from __future__ import annotations

import numpy as np

from slova._backend import Array
from slova_bench.shifts.per_image_rng import PerImageRng

__all__ = ["gaussian_noise", "impulse_noise", "shot_noise", "speckle_noise"]


def gaussian_noise(images: Array, rng: PerImageRng, deviation: float) -> Array:
    """Additive noise with the same deviation everywhere."""
    return images / 255 + deviation * rng.normal(*images.shape[1:])


def shot_noise(images: Array, rng: PerImageRng, photons: float) -> Array:
    """Poisson counts: white is this many photons on average."""
    return rng.poisson(images / 255 * photons) / photons


def impulse_noise(images: Array, rng: PerImageRng, share: float) -> Array:
    """Salt and pepper: this share of the values becomes 0 or 1, with equal probability."""
    hit = rng.uniform(0, 1, *images.shape[1:]) <= share
    salt = rng.uniform(0, 1, *images.shape[1:]) <= 0.5
    return np.where(hit, salt, images / 255)


def speckle_noise(images: Array, rng: PerImageRng, deviation: float) -> Array:
    """Noise in proportion to the value."""
    return images / 255 * (1 + deviation * rng.normal(*images.shape[1:]))
