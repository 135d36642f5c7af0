"""Random numbers for images, drawn where the generator is.

Without a generator they come from the default generator of the images' device, without synchronisation. A generator on
the host gives the same numbers for images on every device.
"""

from __future__ import annotations

import torch
from torch import Generator, Tensor

__all__ = ["noise_like", "normal", "permutation", "rand", "strength", "uniform"]


def rand(shape: tuple[int, ...], images: Tensor, generator: Generator | None) -> Tensor:
    """Numbers in [0, 1) of this shape, on the device of the images."""
    return torch.rand(shape, generator=generator, device=_home(images, generator)).to(images.device)


def uniform(images: Tensor, generator: Generator | None, *shape: int) -> Tensor:
    """Numbers in [0, 1) of this shape per image."""
    return rand((len(images), *shape), images, generator)


def normal(images: Tensor, generator: Generator | None, *shape: int) -> Tensor:
    """Normally distributed numbers of this shape per image."""
    home = _home(images, generator)
    return torch.randn(len(images), *shape, generator=generator, device=home).to(images.device)


def strength(images: Tensor, generator: Generator | None) -> Tensor:
    """One number in [0, 1) per image (N, 1, 1, 1)."""
    return uniform(images, generator, 1, 1, 1)


def noise_like(images: Tensor, generator: Generator | None) -> Tensor:
    """Numbers in [0, 1) of the shape, dtype and memory format of the images."""
    drawn = torch.empty_like(images, device=_home(images, generator)).uniform_(generator=generator)
    return drawn.to(images.device)


def permutation(count: int, images: Tensor, generator: Generator | None) -> Tensor:
    """The numbers below `count` in random order; `torch.randperm` would synchronise a device."""
    if generator is not None and generator.device.type == "cpu":
        return torch.randperm(count, generator=generator).to(images.device)
    return rand((count,), images, generator).argsort()


def _home(images: Tensor, generator: Generator | None) -> torch.device:
    return images.device if generator is None else generator.device
