"""Straight lines and planes through images, far from the training data.

Images are float32 with 1 for white, and are not clipped.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence

import numpy as np

from slova._backend import NUMPY, Array, of, to_numpy
from slova_bench.shifts.per_image_rng import PerImageRng

__all__ = ["directions", "planes"]

KEY = zlib.crc32(b"directions")


def directions(images: Array, levels: Sequence[float]) -> Array:
    """x + level * z for every level and image, (levels, N, C, H, W); every image has its own z, standard normal.

    The uint8 images become floats with 1 for white; a level is the deviation of the noise in these units.
    """
    pixels = _floats(images)
    steps = PerImageRng((0, KEY, 0), range(len(pixels))).normal(*pixels.shape[1:]).astype(np.float32)
    return _same_kind(np.stack([pixels + np.float32(level) * steps for level in levels]), images)


def planes(triplets: Array, alphas: Sequence[float], betas: Sequence[float]) -> Iterator[Array]:
    """For every triplet of images (T, 3, C, H, W) its plane (alphas, betas, C, H, W), one at a time.

    a + alpha (b - a) + beta (c - a): the first image at (0, 0), the second at (1, 0), the third at (0, 1).
    """
    alpha, beta = (np.asarray(numbers, dtype=np.float32)[:, None, None, None] for numbers in (alphas, betas))
    for first, second, third in _floats(triplets):
        yield _same_kind(first + alpha[:, None] * (second - first) + beta * (third - first), triplets)


def _floats(images: Array) -> Array:
    pixels = to_numpy(images)
    if pixels.dtype != np.uint8:
        raise TypeError(f"images must be uint8, got {pixels.dtype}")
    return pixels.astype(np.float32) / 255


def _same_kind(values: Array, images: Array) -> Array:
    if of(images) is NUMPY:
        return values
    import torch

    return torch.from_numpy(values).to(images.device)
