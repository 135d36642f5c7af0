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
from slova_bench.shifts.per_image_rng import Draws, numbered
from slova_bench.shifts.severities import CIFAR, DIGITS, Family, check_name

__all__ = ["BATCH", "Corruption", "corrupt", "corrupt_digits", "foreign"]

BATCH = 256  # images held as floats at a time: it decides the memory and the speed, never the pixels


def corrupt(images: Array, name: str, severity: int, *, seed: int = 0, indices: Array | None = None) -> Array:
    """The images (N, 3, 32, 32) as CIFAR-10-C has them: one of its 19 corruptions, severity 1 to 5."""
    return Corruption(name, severity, seed)(images, indices=indices)


def corrupt_digits(images: Array, name: str, severity: int, *, seed: int = 0, indices: Array | None = None) -> Array:
    """The same for the digits (N, 1, 8, 8) and their own shifts."""
    return Corruption(name, severity, seed, DIGITS)(images, indices=indices)


def foreign(images: Array, name: str, *, seed: int = 0, indices: Array | None = None, family: Family = CIFAR) -> Array:
    """As many images that show none of the classes: noise, shuffled pixels and so on; `family.foreign` names them."""
    check_name(name, family.foreign)
    change = partial(_in_batches, family.foreign[name], _key(seed, name, 0))
    return of(images).like(change(_pixels(images, family), numbered(len(images), indices)), images)


@dataclass(frozen=True)
class Corruption:
    """Images -> images: one corruption at one severity. Two that are equal give the same pixels."""

    name: str
    severity: int
    seed: int = 0
    family: Family = CIFAR

    def __post_init__(self) -> None:
        self.family.check(self.name, self.severity)

    def __call__(self, images: Array, *, indices: Array | None = None, workers: int = 1) -> Array:
        """The corrupted images; image n has the randomness of number `indices[n]` of its data set, or of number n.

        With several workers a script needs the usual `if __name__ == "__main__":`, for they are fresh processes.
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
    change: Callable[[Array, Draws], Array], key: tuple[int, int, int], pixels: Array, numbers: Array
) -> Array:
    changed = np.empty(pixels.shape, dtype=np.uint8)
    for start in range(0, len(pixels), BATCH):
        part = slice(start, start + BATCH)
        changed[part] = _bytes(change(np.ascontiguousarray(pixels[part]), Draws(key, numbers[part])))
    return changed


def _bytes(images: Array) -> Array:
    """As the original: clipped, and cut down to whole grey levels, not rounded."""
    return images if images.dtype == np.uint8 else (np.clip(images, 0, 1) * 255).astype(np.uint8)


def _at_strength(change: Callable[..., Array], strength: object, pixels: Array, draws: Draws) -> Array:
    return change(pixels, draws, strength)


def _key(seed: int, name: str, severity: int) -> tuple[int, int, int]:
    return seed, zlib.crc32(name.encode()), severity


def _pixels(images: Array, family: Family) -> Array:
    pixels = to_numpy(images)
    if pixels.dtype != np.uint8 or pixels.ndim != 4 or pixels.shape[1:] != family.shape:
        wanted = ", ".join(map(str, family.shape))
        raise ValueError(f"images must be uint8 (N, {wanted}), got {pixels.dtype} {pixels.shape}")
    return pixels
