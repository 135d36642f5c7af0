"""Random numbers for a batch of images, every image from a stream of its own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from slova._backend import Array, to_numpy

__all__ = ["Draws", "numbered"]


def numbered(count: int, indices: Array | None) -> Array:
    """The numbers of so many images in their data set: these, or 0, 1, 2, …"""
    numbers = np.arange(count) if indices is None else to_numpy(indices)
    if numbers.shape != (count,) or numbers.dtype.kind not in "iu" or (numbers < 0).any():
        raise ValueError(f"indices must be {count} whole numbers from 0 on, got {numbers.dtype} {numbers.shape}")
    return numbers


class Draws:
    """Row n of every draw comes from the stream of image `indices[n]`, whatever else is in the batch.

    The key says what the numbers are for (seed, name, severity), so that no two uses share a stream.
    """

    def __init__(self, key: Sequence[int], indices: Iterable[int]) -> None:
        self._streams = [np.random.default_rng([*key, int(index)]) for index in indices]

    def __len__(self) -> int:
        return len(self._streams)

    def normal(self, *shape: int) -> Array:
        """Standard normal, (N, *shape)."""
        return np.stack([stream.standard_normal(shape) for stream in self._streams])

    def uniform(self, low: float, high: float, *shape: int) -> Array:
        """Uniform in [low, high), (N, *shape)."""
        return np.stack([stream.uniform(low, high, shape) for stream in self._streams])

    def integers(self, low: int, high: int, *shape: int) -> Array:
        """Uniform in low, …, high - 1, (N, *shape)."""
        return np.stack([stream.integers(low, high, shape) for stream in self._streams])

    def poisson(self, rates: Array) -> Array:
        """Counts with these means, one row of rates an image."""
        return np.stack([stream.poisson(rate) for stream, rate in zip(self._streams, rates, strict=True)])

    def permutation(self, length: int) -> Array:
        """An order of 0, …, length - 1 for every image, (N, length)."""
        return np.stack([stream.permutation(length) for stream in self._streams])
