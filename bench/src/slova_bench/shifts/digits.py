"""Shifts for the grey 8 x 8 digits. uint8 (N, 1, 8, 8) in, [0, 1] out (clipped by the caller)."""

from __future__ import annotations

import numpy as np

from slova._backend import Array
from slova_bench.shifts.per_image_rng import PerImageRng
from slova_bench.shifts.warps import sampled

__all__ = ["occlusion", "rotation", "translation"]


def translation(images: Array, rng: PerImageRng, distance: float) -> Array:
    """Moved by this many pixels in a random direction, with black padding."""
    angles = rng.uniform(-np.pi, np.pi)[:, None, None]
    rows, columns = _grid(images)
    return _on_black(images, rows + distance * np.sin(angles), columns + distance * np.cos(angles))


def rotation(images: Array, rng: PerImageRng, degrees: float) -> Array:
    """Rotated about the centre by plus or minus this angle."""
    angles = np.radians(degrees * (2 * rng.integers(0, 2) - 1))[:, None, None]
    rows, columns = _grid(images)
    middle = (images.shape[2] - 1) / 2
    rows, columns = rows - middle, columns - middle
    down, right = np.cos(angles) * rows - np.sin(angles) * columns, np.sin(angles) * rows + np.cos(angles) * columns
    return _on_black(images, down + middle, right + middle)


def occlusion(images: Array, rng: PerImageRng, side: int) -> Array:
    """A grey square of this side at a random position."""
    size = images.shape[2]
    corner = rng.integers(0, size - side + 1, 2)[:, :, None, None]
    rows, columns = _grid(images)
    hidden = (corner[:, 0] <= rows) & (rows < corner[:, 0] + side)
    hidden &= (corner[:, 1] <= columns) & (columns < corner[:, 1] + side)
    return np.where(hidden[:, None], 0.5, images / 255)


def _grid(images: Array) -> Array:
    return np.mgrid[: images.shape[2], : images.shape[3]].astype(float)


def _on_black(images: Array, rows: Array, columns: Array) -> Array:
    border = images.shape[2]
    padded = np.pad(images / 255, ((0, 0), (0, 0), (border, border), (border, border)))
    return sampled(padded, rows + border, columns + border, "mirror")
