"""Straight lines and planes through images, far from the training data.

Images are tensors of uint8; lines and planes are float32 with 1 for white, and are not clipped.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence

import numpy as np
import torch
from torch import Tensor

from slova_bench.shifts.per_image_rng import PerImageRng

__all__ = ["directions", "planes"]

KEY = zlib.crc32(b"directions")


def directions(images: Tensor, level: float) -> Tensor:
    """x + level * z, where every image has its own z, standard normal: the level is the deviation of the noise."""
    steps = PerImageRng((0, KEY, 0), range(len(images))).normal(*images.shape[1:]).astype(np.float32)
    return images.float() / 255 + level * torch.from_numpy(steps)


def planes(triplets: Tensor, alphas: Sequence[float], betas: Sequence[float]) -> Iterator[Tensor]:
    """For every triplet of images (T, 3, C, H, W) its plane (alphas, betas, C, H, W), one at a time.

    a + alpha (b - a) + beta (c - a): the first image at (0, 0), the second at (1, 0), the third at (0, 1).
    """
    alpha, beta = (torch.tensor(numbers, dtype=torch.float32)[:, None, None, None] for numbers in (alphas, betas))
    for first, second, third in triplets.float() / 255:
        yield first + alpha[:, None] * (second - first) + beta * (third - first)
