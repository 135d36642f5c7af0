"""Synthetic OOD images: noise, permuted pixels, patches of photographs, negatives. uint8 or [0, 1] out."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from scipy import ndimage
from sklearn.datasets import load_sample_images

from slova._backend import Array
from slova_bench.shifts.per_image_rng import PerImageRng

__all__ = ["inverted", "low_pass", "permuted", "photographs", "uniform"]


def uniform(images: Array, rng: PerImageRng) -> Array:
    """Independent uniform values from 0 to 255; only the shape of the images is used."""
    return rng.integers(0, 256, *images.shape[1:]).astype(np.uint8)


def permuted(images: Array, rng: PerImageRng) -> Array:
    """The pixels of the image in random order, colours kept."""
    pixels = images.reshape(*images.shape[:2], -1)
    return np.take_along_axis(pixels, rng.permutation(pixels.shape[2])[:, None], axis=2).reshape(images.shape)


def low_pass(images: Array, rng: PerImageRng) -> Array:
    """Smooth noise as in the training of CEDA: permuted or uniform with equal probability, smoothed, scaled to [0, 1].

    A 15 x 15 Gaussian whose deviation is drawn from [1, 2.5] per image (in CEDA: per batch).
    """
    noise, coins, sigmas = uniform(images, rng), rng.integers(0, 2) > 0, rng.uniform(1, 2.5)
    noise[coins] = permuted(images, rng)[coins]
    smooth = np.stack([_smooth(image / 255, sigma) for image, sigma in zip(noise, sigmas, strict=True)])
    smooth -= smooth.min(axis=(1, 2, 3), keepdims=True)
    highest = smooth.max(axis=(1, 2, 3), keepdims=True)
    return smooth / np.where(highest > 0, highest, 1)  # a constant image becomes black


def _smooth(image: Array, sigma: float) -> Array:
    return ndimage.gaussian_filter(image, (0, sigma, sigma), mode="reflect", radius=(0, 7, 7))


def inverted(images: Array, rng: PerImageRng) -> Array:
    """The negative of the image."""
    return 255 - images


def photographs(images: Array, rng: PerImageRng) -> Array:
    """Grey patches of the two photographs that come with scikit-learn, at a quarter of their size."""
    scenes, size = _scenes(), images.shape[2]
    _, height, width = scenes.shape
    rows, columns = rng.integers(0, height - size + 1), rng.integers(0, width - size + 1)
    windows = np.lib.stride_tricks.sliding_window_view(scenes, (size, size), axis=(1, 2))
    return windows[rng.integers(0, len(scenes)), rows, columns][:, None]


@lru_cache(maxsize=1)
def _scenes() -> Array:
    return np.stack([_quarter(photograph) for photograph in load_sample_images().images])


def _quarter(photograph: Array) -> Array:
    grey = photograph.mean(axis=2) / 255
    height, width = (length // 4 for length in grey.shape)
    return grey[: height * 4, : width * 4].reshape(height, 4, width, 4).mean(axis=(1, 3))
