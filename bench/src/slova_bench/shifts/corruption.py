"""One corruption at one severity, or OOD images, made of any number of images in batches."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from typing import TypeVar

import numpy as np

from slova._backend import Array, of, to_numpy
from slova_bench.shifts.per_image_rng import PerImageRng
from slova_bench.shifts.severities import CIFAR, Family

__all__ = ["BATCH", "corrupt", "ood_images"]

Known = TypeVar("Known")
BATCH = 256  # images per step; it affects memory and speed, not the pixels


def corrupt(images: Array, name: str, severity: int, *, seed: int = 0, family: Family = CIFAR) -> Array:
    """A shift of the family at a severity from 1 to 5; that of CIFAR has the 19 corruptions of CIFAR-10-C."""
    shift = _known(name, family.shifts)
    if severity not in range(1, 6):
        raise ValueError(f"severity must be 1 to 5, got {severity!r}")
    strength = shift.strengths[severity - 1]
    key = (seed, zlib.crc32(name.encode()), severity)
    return _in_batches(images, family, key, lambda pixels, rng: shift.change(pixels, rng, strength))


def ood_images(images: Array, name: str, *, family: Family = CIFAR) -> Array:
    """As many out-of-distribution images: noise, shuffled pixels and so on. `family.ood` lists the names."""
    return _in_batches(images, family, (0, zlib.crc32(name.encode()), 0), _known(name, family.ood))


def _known(name: str, among: Mapping[str, Known]) -> Known:
    if name not in among:
        raise ValueError(f"the name must be one of {', '.join(among)}, got {name!r}")
    return among[name]


def _in_batches(
    images: Array, family: Family, key: tuple[int, int, int], change: Callable[[Array, PerImageRng], Array]
) -> Array:
    pixels = to_numpy(images)
    if pixels.dtype != np.uint8 or pixels.ndim != 4 or pixels.shape[1:] != family.shape:
        shape = ", ".join(map(str, family.shape))
        raise ValueError(f"images must be uint8 (N, {shape}), got {pixels.dtype} {pixels.shape}")
    changed = np.empty(pixels.shape, dtype=np.uint8)
    for start in range(0, len(pixels), BATCH):
        part = np.ascontiguousarray(pixels[start : start + BATCH])
        rng = PerImageRng(key, range(start, start + len(part)))
        changed[start : start + BATCH] = _bytes(change(part, rng))
    return of(images).like(changed, images)


def _bytes(images: Array) -> Array:
    """Clipped and truncated to grey levels, not rounded, as in the original."""
    return images if images.dtype == np.uint8 else (np.clip(images, 0, 1) * 255).astype(np.uint8)
