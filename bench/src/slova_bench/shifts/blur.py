"""Blur: pixels mixed with their neighbours. uint8 (N, C, H, W) in, uint8 or [0, 1] out (clipped by the caller).

The treatment of borders differs between blurs, as in the original.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from scipy import ndimage, sparse

from slova._backend import Array
from slova_bench.shifts.per_image_rng import PerImageRng
from slova_bench.shifts.warps import streaked, zoom_matrix

__all__ = ["defocus_blur", "gaussian_blur", "glass_blur", "motion_blur", "smoothed", "zoom_blur"]


def gaussian_blur(images: Array, rng: PerImageRng, sigma: float) -> Array:
    """Mixed with a Gaussian of this deviation in pixels."""
    return smoothed(images / 255, sigma)


def defocus_blur(images: Array, rng: PerImageRng, lens: tuple[float, float]) -> Array:
    """Mixed with a disk of light (radius, softness of its rim)."""
    return ndimage.correlate(images / 255, _disk(*lens)[None, None], mode="mirror")


def glass_blur(images: Array, rng: PerImageRng, glass: tuple[float, int]) -> Array:
    """Softened, scattered (sigma, rounds of scattering), softened again."""
    sigma, rounds = glass
    softened = (smoothed(images / 255, sigma) * 255).astype(np.uint8)
    height, width = images.shape[2:]
    for steps in rng.integers(-1, 1, rounds, 2, height - 2, width - 2).swapaxes(0, 1):
        softened = _scattered(softened, steps)
    return smoothed(softened / 255, sigma)


def motion_blur(images: Array, rng: PerImageRng, motion: tuple[float, float]) -> Array:
    """A streak (radius, sigma) at up to 45 degrees from the horizontal."""
    return streaked(images, rng.uniform(-45, 45), motion)


def zoom_blur(images: Array, rng: PerImageRng, limit: float) -> Array:
    """The mean of the image and its enlargements up to this factor, as one sparse matrix."""
    pixels = images.reshape(-1, images.shape[2] * images.shape[3]).T / 255
    mixed = _zoom_operator(limit, images.shape[2]) @ pixels
    # Single precision, as in the original: rows that sum to 1 - 1e-16 must not turn white into 254.
    return mixed.T.astype(np.float32).reshape(images.shape)


def smoothed(images: Array, sigma: float) -> Array:
    """The Gaussian blur of every image, borders repeated."""
    return ndimage.gaussian_filter(images, (0, 0, sigma, sigma), mode="nearest")


def _disk(radius: float, softness: float) -> Array:
    row, column = np.mgrid[-3:4, -3:4]
    disk = (row**2 + column**2 <= radius**2).astype(float)
    rim = np.exp(-(np.arange(-1, 2) ** 2) / (2 * softness**2))
    soft = ndimage.convolve(disk / disk.sum(), np.outer(rim, rim) / rim.sum() ** 2, mode="constant")
    return soft.astype(np.float32).astype(float)  # its sum is slightly above one, as in the original


def _scattered(images: Array, steps: Array) -> Array:
    """Every pixel from the third row and column on becomes a copy of itself or of a neighbour above or to the left.

    The original intends to swap the two, from the last pixel to the first, but swaps views of one array: the first
    assignment changes what the second one reads, so the neighbour keeps its value. Each neighbour is read before it is
    changed, so one gather is equivalent.
    """
    count, _, height, width = images.shape
    rows = np.arange(2, height)[:, None] + steps[:, 0]
    columns = np.arange(2, width) + steps[:, 1]
    scattered = images.copy()
    scattered[:, :, 2:, 2:] = images[np.arange(count)[:, None, None], :, rows, columns].transpose(0, 3, 1, 2)
    return scattered


@lru_cache(maxsize=8)
def _zoom_operator(limit: float, size: int) -> Array:
    matrices = [np.eye(size), *(zoom_matrix(factor, size) for factor in np.arange(1, limit, 0.01))]
    return sparse.csr_array(sum(np.kron(matrix, matrix) for matrix in matrices) / len(matrices))
