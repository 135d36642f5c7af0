"""Geometric operations: zoom, motion blur, interpolation. Shared by blurs, snow and the elastic transform."""

from __future__ import annotations

from functools import lru_cache, partial

import numpy as np
from scipy import ndimage

from slova._backend import Array

__all__ = ["motion_kernel", "sampled", "streaked", "zoom_matrix"]


@lru_cache(maxsize=64)
def zoom_matrix(factor: float, size: int) -> Array:
    """Z such that Z @ image @ Z.T is the middle of the image, enlarged by this factor and of the old size."""
    kept = int(np.ceil(size / factor))
    top = (size - kept) // 2
    enlarged = ndimage.zoom(np.eye(size)[top : top + kept], (factor, 1), order=1)
    trimmed = (len(enlarged) - size) // 2
    return enlarged[trimmed : trimmed + size]


def streaked(images: Array, angles: Array, motion: tuple[float, float]) -> Array:
    """The uint8 images under ImageMagick's motion blur (radius, sigma), one angle per image, in degrees.

    One-sided: a pixel mixes with those ahead of it, at whole steps along the angle; beyond the border it repeats.
    """
    weights = motion_kernel(*motion)
    reach, (height, width) = len(weights) - 1, images.shape[2:]
    padded = np.pad(images.astype(float), ((0, 0), (0, 0), (reach, reach), (reach, reach)), mode="edge")
    windows = np.lib.stride_tricks.sliding_window_view(padded, (height, width), axis=(2, 3))
    everyone, steps = np.arange(len(images)), np.arange(len(weights))[:, None]
    rows, columns = (np.ceil(steps * turn(np.radians(angles)) - 0.5).astype(int) + reach for turn in (np.sin, np.cos))
    total = sum(
        weight * windows[everyone, :, row, column]
        for weight, row, column in zip(weights, rows, columns, strict=True)
        if weight > 1e-9
    )
    return (np.rint(total * 257) // 257).astype(np.uint8)  # rounded to 16 bits, then truncated to 8


def motion_kernel(radius: float, sigma: float) -> Array:
    """The weights of a motion blur, from the pixel itself outwards; they sum to one."""
    weights = np.exp(-(np.arange(2 * np.ceil(radius) + 1) ** 2) / (2 * sigma**2))
    return weights / weights.sum()


def sampled(images: Array, rows: Array, columns: Array, mode: str) -> Array:
    """The images (N, C, H, W) read between pixels at rows and columns (N, H, W), linearly.

    Beyond the border the image is reflected: with its last pixel repeated ("reflect") or not ("mirror").
    """
    above, left = np.floor(rows), np.floor(columns)
    down, right = (rows - above)[..., None], (columns - left)[..., None]
    corner = partial(_read, images, mode)
    upper = corner(above, left) * (1 - right) + corner(above, left + 1) * right
    lower = corner(above + 1, left) * (1 - right) + corner(above + 1, left + 1) * right
    return (upper * (1 - down) + lower * down).transpose(0, 3, 1, 2)


def _read(images: Array, mode: str, rows: Array, columns: Array) -> Array:
    """The pixels at these positions, colours last."""
    count, channels, height, width = images.shape
    pixels = np.ascontiguousarray(images.transpose(0, 2, 3, 1)).reshape(-1, channels)
    first = np.arange(count)[:, None, None] * (height * width)
    return pixels.take(first + _folded(rows, height, mode) * width + _folded(columns, width, mode), axis=0)


def _folded(index: Array, size: int, mode: str) -> Array:
    repeats = {"reflect": 1, "mirror": 0}[mode]
    period = 2 * (size - 1 + repeats)
    index = index.astype(int) % period
    return np.minimum(index, period - repeats - index)
