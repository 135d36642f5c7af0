"""The published CIFAR-10-C and CIFAR-100-C files: one array per corruption, five blocks of 10,000 images."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from slova._backend import Array
from slova_bench.shifts.severities import CIFAR

__all__ = ["official"]

BLOCK = 10_000  # images per severity


def official(folder: str | os.PathLike[str], name: str, severity: int) -> tuple[Array, Array]:
    """The 10,000 published images (N, 3, 32, 32), memory-mapped, and their labels (N,)."""
    CIFAR.check(name, severity)
    block = slice((severity - 1) * BLOCK, severity * BLOCK)
    images = _mapped(Path(folder), name, (5 * BLOCK, 32, 32, 3))
    labels = _mapped(Path(folder), "labels", (5 * BLOCK,))
    return images[block].transpose(0, 3, 1, 2), labels[block].astype(np.int64)


def _mapped(folder: Path, name: str, shape: tuple[int, ...]) -> Array:
    file = folder / f"{name}.npy"
    if not file.is_file():
        found = sorted(path.stem for path in folder.glob("*.npy"))
        raise FileNotFoundError(f"{file} is missing; {folder} has {', '.join(found) or 'no .npy files'}")
    array = np.load(file, mmap_mode="r", allow_pickle=False)
    if array.shape != shape or array.dtype != np.uint8:
        raise ValueError(f"{file} must be uint8 {shape}, got {array.dtype} {array.shape}")
    return array
