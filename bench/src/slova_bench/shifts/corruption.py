"""One corruption at one severity, applied to any number of images, in batches and on several processes."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context

import numpy as np

from slova._backend import Array, of, to_numpy
from slova_bench.shifts.per_image_rng import PerImageRng, numbered
from slova_bench.shifts.severities import CIFAR, DIGITS, Family, check_name

__all__ = ["BATCH", "Corruption", "corrupt", "corrupt_digits", "ood_images"]

BATCH = 256  # images per step; it affects memory and speed, not the pixels


def corrupt(images: Array, name: str, severity: int, *, seed: int = 0, indices: Array | None = None) -> Array:
    """Apply one of the 19 corruptions of CIFAR-10-C, severity 1 to 5, to images (N, 3, 32, 32)."""
    return Corruption(name, severity, seed)(images, indices=indices)


def corrupt_digits(images: Array, name: str, severity: int, *, seed: int = 0, indices: Array | None = None) -> Array:
    """Apply a shift of the digits to images (N, 1, 8, 8)."""
    return Corruption(name, severity, seed, DIGITS)(images, indices=indices)


def ood_images(
    images: Array, name: str, *, seed: int = 0, indices: Array | None = None, family: Family = CIFAR
) -> Array:
    """Return as many out-of-distribution images: noise, shuffled pixels and so on. `family.ood` lists the names."""
    check_name(name, family.ood)
    change = partial(_in_batches, family.ood[name], _key(seed, name, 0))
    return of(images).like(change(_pixels(images, family), numbered(len(images), indices)), images)


@dataclass(frozen=True)
class Corruption:
    """One corruption at one severity, a function of images. Equal corruptions give equal pixels."""

    name: str
    severity: int
    seed: int = 0
    family: Family = CIFAR

    def __post_init__(self) -> None:
        self.family.check(self.name, self.severity)

    def __call__(self, images: Array, *, indices: Array | None = None, workers: int = 1) -> Array:
        """The corrupted images; image n uses the random stream of index `indices[n]`, by default n.

        With several workers a script needs `if __name__ == "__main__":`, since processes are spawned.
        """
        pixels, numbers = _pixels(images, self.family), numbered(len(images), indices)
        return of(images).like(_spread(self._apply, pixels, numbers, workers), images)

    def _apply(self, pixels: Array, numbers: Array) -> Array:
        shift = self.family.shifts[self.name]
        change = partial(_at_strength, shift.change, shift.strengths[self.severity - 1])
        return _in_batches(change, _key(self.seed, self.name, self.severity), pixels, numbers)


def _spread(apply: Callable[[Array, Array], Array], pixels: Array, numbers: Array, workers: int) -> Array:
    if workers == 1 or len(pixels) <= BATCH:
        return apply(pixels, numbers)
    parts = [np.array_split(array, 4 * workers) for array in (pixels, numbers)]
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        return np.concatenate(list(pool.map(apply, *parts)))


def _in_batches(
    change: Callable[[Array, PerImageRng], Array], key: tuple[int, int, int], pixels: Array, numbers: Array
) -> Array:
    changed = np.empty(pixels.shape, dtype=np.uint8)
    for start in range(0, len(pixels), BATCH):
        part = slice(start, start + BATCH)
        changed[part] = _bytes(change(np.ascontiguousarray(pixels[part]), PerImageRng(key, numbers[part])))
    return changed


def _bytes(images: Array) -> Array:
    """Clipped and truncated to grey levels, not rounded, as in the original."""
    return images if images.dtype == np.uint8 else (np.clip(images, 0, 1) * 255).astype(np.uint8)


def _at_strength(change: Callable[..., Array], strength: object, pixels: Array, rng: PerImageRng) -> Array:
    return change(pixels, rng, strength)


def _key(seed: int, name: str, severity: int) -> tuple[int, int, int]:
    return seed, zlib.crc32(name.encode()), severity


def _pixels(images: Array, family: Family) -> Array:
    pixels = to_numpy(images)
    if pixels.dtype != np.uint8 or pixels.ndim != 4 or pixels.shape[1:] != family.shape:
        shape = ", ".join(map(str, family.shape))
        raise ValueError(f"images must be uint8 (N, {shape}), got {pixels.dtype} {pixels.shape}")
    return pixels
