"""Random numbers for a batch of images, with one stream per image."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from slova._backend import Array

__all__ = ["PerImageRng"]


class PerImageRng:
    """A random generator for a batch of images: row n of every draw comes from the stream of image `numbers[n]`.

    The key (seed, name, severity) identifies the use, so that no two uses share a stream.
    """

    def __init__(self, key: Sequence[int], numbers: Iterable[int]) -> None:
        self._streams = [np.random.default_rng([*key, number]) for number in numbers]

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
