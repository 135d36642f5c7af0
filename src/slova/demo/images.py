"""Images for the demo: scikit-learn's digits, what noise and motion make of them, and images that show no digit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from slova.backend import Array
from slova.heads import NONE

__all__ = ["Digits", "ImageSet", "Labelled", "digits", "image_sets"]

TRAIN, VAL = 797, 500  # the other 500 of the 1,797 are the test
NOISE, ANGLES, STEPS = (0.1, 0.2, 0.3), (10, 20, 30), (0.5, 1.0, 1.5)  # standard deviation, degrees, pixels


class Labelled(NamedTuple):
    """Images (N, 8, 8), float32 in [0, 1], and their digits (N,)."""

    images: Array
    labels: Array


class Digits(NamedTuple):
    train: Labelled
    val: Labelled
    test: Labelled


class ImageSet(NamedTuple):
    """A set to judge by: clean, shifted or foreign; foreign images are labelled NONE."""

    name: str
    kind: str
    images: Array
    labels: Array


def digits(seed: int) -> Digits:
    """A random split of the 1,797 digits."""
    from sklearn.datasets import load_digits

    found = load_digits()
    order = np.random.default_rng(seed).permutation(len(found.target))
    images, labels = (found.images[order] / 16).astype(np.float32), found.target[order].astype(np.int64)
    parts = (slice(0, TRAIN), slice(TRAIN, TRAIN + VAL), slice(TRAIN + VAL, None))
    return Digits(*(Labelled(images[part], labels[part]) for part in parts))


def image_sets(test: Labelled, seed: int) -> list[ImageSet]:
    """The clean test images first, then nine shifts of them, then as many foreign images of each kind."""
    generator = np.random.default_rng([seed, 1])
    shifted = [
        ImageSet(name, "shifted", _grey(images), test.labels) for name, images in _shifts(test.images, generator)
    ]
    none = np.full(len(test.labels), NONE)
    foreign = [ImageSet(name, "foreign", _grey(images), none) for name, images in _foreign(test.images, generator)]
    return [ImageSet("test", "clean", *test), *shifted, *foreign]


def _grey(images: Array) -> Array:
    return np.clip(images, 0, 1).astype(np.float32)


def _shifts(images: Array, generator: np.random.Generator) -> Iterator[tuple[str, Array]]:
    from scipy import ndimage

    for deviation in NOISE:
        yield f"noise {deviation}", images + generator.normal(0, deviation, images.shape)
    for angle in ANGLES:
        yield f"rotation {angle}", ndimage.rotate(images, angle, axes=(1, 2), reshape=False, order=1)
    for step in STEPS:
        yield f"translation {step}", ndimage.shift(images, (0, 0, step), order=1)


def _foreign(images: Array, generator: np.random.Generator) -> Iterator[tuple[str, Array]]:
    yield "shuffled", generator.permuted(images.reshape(len(images), -1), axis=1).reshape(images.shape)
    yield "inverted", 1 - images
    yield "noise", generator.random(images.shape)
    patches = _patches(len(images), generator)
    if patches is not None:
        yield "photos", patches


def _patches(count: int, generator: np.random.Generator) -> Array | None:
    """Grey patches of the two photographs that come with scikit-learn, at a quarter of their size; None without Pillow,
    which decodes them."""
    try:
        from sklearn.datasets import load_sample_images

        photographs = [photograph.mean(axis=2) / 255 for photograph in load_sample_images().images]
    except ImportError:
        return None
    small = [
        photograph[: len(photograph) // 4 * 4].reshape(-1, 4, 160, 4).mean(axis=(1, 3)) for photograph in photographs
    ]
    return np.stack([_patch(small[i % len(small)], generator) for i in range(count)])


def _patch(photograph: Array, generator: np.random.Generator) -> Array:
    row, column = (int(generator.integers(0, length - 7)) for length in photograph.shape)
    return photograph[row : row + 8, column : column + 8]
