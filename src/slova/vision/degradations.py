"""Images that still show what they showed, only worse: with their labels they teach a map how sure a network may be of
what it was not trained on.

    worse = degraded(images)                   each image once, in one of eight ways, by a random strength

Images are floats (N, C, H, W) of [0, 1], on any device. Each kind takes images and a generator on the host, whose
numbers are all it draws: the same seed gives the same pixels on every device.

The kinds are unlike the sixteen corruptions of the comparison, which are to be met unprepared: no noise, blur, weather,
brightness, contrast or coarser pixels is among them. Kin remain: a blur is a convolution, though not a random one, a
changed saturation is a mixture of colours, glass exchanges pixels, and an elastic transform is a warp.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import torch
from torch import Generator, Tensor
from torch.nn import functional

from slova.vision.patches import check_images, reordered

__all__ = [
    "KINDS",
    "blended",
    "convolved",
    "covered",
    "degraded",
    "exchanged",
    "recoloured",
    "rephased",
    "striped",
    "warped",
]

Kind = Callable[[Tensor, Generator], Tensor]


def degraded(images: Tensor, *, seed: int = 0, kinds: Sequence[Kind] | None = None) -> Tensor:
    """Each image in one of the kinds, in equal parts and drawn at random, by a strength between nothing and much."""
    chosen = KINDS if kinds is None else tuple(kinds)
    _check(images, chosen)
    generator = torch.Generator().manual_seed(seed)
    given = images.float().contiguous()
    worse = given.clone()
    parts = torch.randperm(len(images), generator=generator).tensor_split(len(chosen))
    order = torch.randperm(len(chosen), generator=generator)  # a small batch has not images enough for all of them
    for kind, part in zip((chosen[place] for place in order), parts, strict=True):
        rows = part.to(images.device)
        worse[rows] = kind(given[rows], generator).clamp(0, 1) if len(part) else given[rows]
    return worse.to(images)


def _check(images: Tensor, kinds: Sequence[Kind]) -> None:
    if not kinds:
        raise ValueError("wanted at least one kind of degradation")
    check_images(images, "degrade them before they are normalised")


def convolved(images: Tensor, generator: Generator) -> Tensor:
    """A random 3 x 3 filter from all colours to all, in part."""
    count, channels, height, width = images.shape
    kernel = _normal(images, generator, channels, channels, 3, 3) / math.sqrt(9 * channels)
    padded = functional.pad(images - 0.5, (1, 1, 1, 1), mode="reflect")
    filtered = functional.conv2d(padded.view(1, -1, height + 2, width + 2), kernel.flatten(0, 1), groups=count)
    return torch.lerp(images, filtered.view_as(images) + 0.5, _strength(images, generator))


def recoloured(images: Tensor, generator: Generator) -> Tensor:
    """Colours mixed by a random matrix, and moved."""
    channels, strength = images.shape[1], _strength(images, generator)[..., 0]
    mixing = torch.eye(channels, device=images.device) + 0.6 * strength * _normal(images, generator, channels, channels)
    moved = 0.5 + 0.15 * strength * _normal(images, generator, channels, 1)
    return (mixing @ (images.flatten(2) - 0.5) + moved).view_as(images)


def warped(images: Tensor, generator: Generator) -> Tensor:
    """Turned by up to 60 degrees, stretched by up to 1.6 each way, and sheared; the border is mirrored."""
    strength = _strength(images, generator)[..., 0, 0]
    amounts = strength * (2 * _uniform(images, generator, 4) - 1)
    turn, across, down, shear = (amounts[:, [place]] for place in range(4))
    turn, across, down = turn * math.pi / 3, (across / 2).exp(), (down / 2).exp()
    first = torch.cat([turn.cos() * across, shear / 2 - turn.sin() * down, 0 * turn], dim=1)
    second = torch.cat([turn.sin() * across, turn.cos() * down, 0 * turn], dim=1)
    grid = functional.affine_grid(torch.stack([first, second], dim=1), list(images.shape), align_corners=False)
    return functional.grid_sample(images.float(), grid, padding_mode="reflection", align_corners=False)


def covered(images: Tensor, generator: Generator) -> Tensor:
    """A square of one colour somewhere, an eighth to three quarters of a side long."""
    half = (1 / 8 + 5 / 8 * _strength(images, generator)[..., 0]) / 2
    middle = _uniform(images, generator, 2, 1)
    down, across = (_ramp(images, axis) - middle[:, [place]] for place, axis in enumerate((-2, -1)))
    square = (down.abs() < half)[..., :, None] & (across.abs() < half)[..., None, :]
    return torch.where(square, _uniform(images, generator, images.shape[1], 1, 1), images)


def blended(images: Tensor, generator: Generator) -> Tensor:
    """With up to half of another image of the batch."""
    order = torch.randperm(len(images), generator=generator).to(images.device)
    return torch.lerp(images, images[order], 0.5 * _strength(images, generator))


def striped(images: Tensor, generator: Generator) -> Tensor:
    """Waves laid over it, two to fourteen to the image, in any direction and colour."""
    strength, angle = _strength(images, generator), math.pi * _uniform(images, generator, 1)
    waves, phase = 2 * math.pi * (2 + 12 * _uniform(images, generator, 1)), 2 * math.pi * _uniform(images, generator, 1)
    down, across = (
        _ramp(images, -2) * (waves * angle.sin())[:, :, None],
        _ramp(images, -1) * (waves * angle.cos())[:, :, None],
    )
    pattern = torch.sin(down[..., :, None] + across[..., None, :] + phase[:, :, None, None])
    return images + 0.3 * strength * pattern * _normal(images, generator, images.shape[1], 1, 1).clamp(-1.5, 1.5)


def rephased(images: Tensor, generator: Generator) -> Tensor:
    """The phase of every wave in it moved at random: as much of each frequency, less in its place."""
    spectrum = torch.fft.rfft2(images.float())
    angle = 1.2 * _strength(images, generator) * _normal(images, generator, 1, *spectrum.shape[-2:])
    angle[..., 0, 0] = 0  # the mean stays
    moved: Tensor = torch.fft.irfft2(spectrum * torch.polar(torch.ones_like(angle), angle), s=images.shape[-2:])
    return moved


def exchanged(images: Tensor, generator: Generator) -> Tensor:
    """Patches an eighth of a side wide in a different order, most of them not far from their place; what fills no patch
    stays."""
    size = max(1, min(images.shape[-2:]) // 8)
    strength = _strength(images, generator)[..., 0, 0]
    return reordered(
        images,
        size,
        lambda count: torch.arange(count, device=images.device) + 12 * strength * _normal(images, generator, count),
    )


def _strength(images: Tensor, generator: Generator) -> Tensor:
    """A number of [0, 1] an image."""
    return _uniform(images, generator, 1, 1, 1)


def _uniform(images: Tensor, generator: Generator, *shape: int) -> Tensor:
    return torch.rand(len(images), *shape, generator=generator).to(images.device)


def _normal(images: Tensor, generator: Generator, *shape: int) -> Tensor:
    return torch.randn(len(images), *shape, generator=generator).to(images.device)


def _ramp(images: Tensor, axis: int) -> Tensor:
    """Places of the pixels along an axis, from 0 to 1."""
    return (torch.arange(images.shape[axis], device=images.device) + 0.5) / images.shape[axis]


KINDS: tuple[Kind, ...] = (convolved, recoloured, warped, covered, blended, striped, rephased, exchanged)
