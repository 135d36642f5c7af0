"""Random numbers for a batch of images, with one stream per image."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from slova._backend import Array, to_numpy

__all__ = ["PerImageRng", "numbered"]


def numbered(count: int, indices: Array | None) -> Array:
    """The indices of the images in their data set: the given ones, or 0, 1, 2, …"""
    numbers = np.arange(count) if indices is None else to_numpy(indices)
    if numbers.shape != (count,) or numbers.dtype.kind not in "iu" or (numbers < 0).any():
        raise ValueError(f"indices must be {count} non-negative integers, got {numbers.dtype} {numbers.shape}")
    return numbers


class PerImageRng:
    """A random generator for a batch of images: row n of every draw comes from the stream of image `indices[n]`.

    The key (seed, name, severity) identifies the use, so that no two uses share a stream.
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
        """Counts with these means, one row of rates per image."""
        return np.stack([stream.poisson(rate) for stream, rate in zip(self._streams, rates, strict=True)])

    def permutation(self, length: int) -> Array:
        """A permutation of 0, …, length - 1 per image, (N, length)."""
        return np.stack([stream.permutation(length) for stream in self._streams])
