"""Degradations: transformations that make an image worse without changing its class.

Degraded validation images, with their labels, show a calibrator how accurate a network is on images that are unlike its
training data.

Images are floats (N, C, H, W) in [0, 1], on any device. Each kind is a function of images and a random generator, which
is its only source of randomness. A generator on the host gives the same pixels on every device; without a generator the
numbers are drawn on the device of the images, so that a training step can be captured as a CUDA graph.

`TRAINING_DEGRADATIONS` are for training (`slova.vision.augment`). Those for the calibration fit and for choosing
between models are in `held_out_degradations`.

The kinds differ from the corruptions of the benchmark, so that these remain unseen: there is no noise, blur, weather,
brightness, contrast or pixelation. Some similarity remains: a blur is a convolution, although not a random one, a
change of saturation mixes colours, frosted glass swaps pixels, and an elastic transform is a warp.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import torch
from torch import Generator, Tensor
from torch.nn import functional

from slova.vision import draws
from slova.vision.checks import check_images, check_kinds
from slova.vision.patches import reorder_patches

__all__ = [
    "DEGRADATIONS",
    "TRAINING_DEGRADATIONS",
    "Degradation",
    "add_stripes",
    "blend",
    "convolve",
    "cover",
    "degrade",
    "recolour",
    "shift_phases",
    "swap_patches",
    "warp",
]

Degradation = Callable[[Tensor, Generator | None], Tensor]


def degrade(images: Tensor, *, seed: int = 0, kinds: Sequence[Degradation] | None = None) -> Tensor:
    """Degrade each image (N, C, H, W) by one of the kinds (`DEGRADATIONS` by default), at a random strength.

    The kinds are assigned at random, in equal shares.

    >>> images = torch.rand(8, 3, 32, 32)
    >>> degrade(images).shape                                              # each image once, at a random strength
    torch.Size([8, 3, 32, 32])
    >>> degrade(images, kinds=[warp]).equal(degrade(images, kinds=[warp]))    # the same seed
    True
    >>> [kind.__name__ for kind in DEGRADATIONS]
    ['convolve', 'recolour', 'warp', 'cover', 'blend', 'add_stripes', 'shift_phases', 'swap_patches']
    """
    chosen = DEGRADATIONS if kinds is None else check_kinds(kinds, "kinds")
    if not chosen:
        raise ValueError("kinds must contain at least one degradation")
    check_images(images, "degrade images before normalising them")
    generator = torch.Generator().manual_seed(seed)
    given = images.float().contiguous()
    degraded = given.clone()
    parts = torch.randperm(len(images), generator=generator).tensor_split(len(chosen))
    order = torch.randperm(len(chosen), generator=generator)  # a small batch does not have an image for every kind
    for kind, part in zip((chosen[index] for index in order), parts, strict=True):
        rows = part.to(images.device)
        degraded[rows] = kind(given[rows], generator).clamp(0, 1) if len(part) else given[rows]
    return degraded.to(images)


def convolve(images: Tensor, generator: Generator | None = None) -> Tensor:
    """Mix each image with its convolution by a random 3 x 3 filter over all channels."""
    count, channels, height, width = images.shape
    kernel = draws.normal(images, generator, channels, channels, 3, 3) / math.sqrt(9 * channels)
    padded = functional.pad(images - 0.5, (1, 1, 1, 1), mode="reflect")
    filtered = functional.conv2d(padded.view(1, -1, height + 2, width + 2), kernel.flatten(0, 1), groups=count)
    return torch.lerp(images, filtered.view_as(images) + 0.5, draws.strength(images, generator))


def recolour(images: Tensor, generator: Generator | None = None) -> Tensor:
    """Multiply the channels by a random matrix and shift them."""
    channels, strength = images.shape[1], draws.strength(images, generator)[..., 0]
    mixing = torch.eye(channels, device=images.device) + 0.6 * strength * draws.normal(
        images, generator, channels, channels
    )
    moved = 0.5 + 0.15 * strength * draws.normal(images, generator, channels, 1)
    return (mixing @ (images.flatten(2) - 0.5) + moved).view_as(images)


def warp(images: Tensor, generator: Generator | None = None) -> Tensor:
    """Rotate by up to 60 degrees, stretch by up to 1.6 along each axis, and shear; borders are reflected."""
    strength = draws.strength(images, generator)[..., 0, 0]
    amounts = strength * (2 * draws.uniform(images, generator, 4) - 1)
    turn, across, down, shear = (amounts[:, index : index + 1] for index in range(4))
    turn, across, down = turn * math.pi / 3, (across / 2).exp(), (down / 2).exp()
    first = torch.cat([turn.cos() * across, shear / 2 - turn.sin() * down, 0 * turn], dim=1)
    second = torch.cat([turn.sin() * across, turn.cos() * down, 0 * turn], dim=1)
    grid = functional.affine_grid(torch.stack([first, second], dim=1), list(images.shape), align_corners=False)
    return functional.grid_sample(images.float(), grid, padding_mode="reflection", align_corners=False)


def cover(images: Tensor, generator: Generator | None = None) -> Tensor:
    """Cover a square of one random colour, an eighth to three quarters of a side long, at a random position."""
    half = (1 / 8 + 5 / 8 * draws.strength(images, generator)[..., 0]) / 2
    centre = draws.uniform(images, generator, 2, 1)
    down, across = (_ramp(images, axis) - centre[:, index : index + 1] for index, axis in enumerate((-2, -1)))
    square = (down.abs() < half)[..., :, None] & (across.abs() < half)[..., None, :]
    return torch.where(square, draws.uniform(images, generator, images.shape[1], 1, 1), images)


def blend(images: Tensor, generator: Generator | None = None) -> Tensor:
    """Blend each image with up to half of another image of the batch."""
    order = draws.permutation(len(images), images, generator)
    return torch.lerp(images, images[order], 0.5 * draws.strength(images, generator))


def add_stripes(images: Tensor, generator: Generator | None = None) -> Tensor:
    """Add waves, two to fourteen per image, of random direction and colour."""
    strength, angle = draws.strength(images, generator), math.pi * draws.uniform(images, generator, 1)
    waves, phase = (
        2 * math.pi * (2 + 12 * draws.uniform(images, generator, 1)),
        2 * math.pi * draws.uniform(images, generator, 1),
    )
    down, across = (
        _ramp(images, -2) * (waves * angle.sin())[:, :, None],
        _ramp(images, -1) * (waves * angle.cos())[:, :, None],
    )
    pattern = torch.sin(down[..., :, None] + across[..., None, :] + phase[:, :, None, None])
    return images + 0.3 * strength * pattern * draws.normal(images, generator, images.shape[1], 1, 1).clamp(-1.5, 1.5)


def shift_phases(images: Tensor, generator: Generator | None = None) -> Tensor:
    """Shift the phase of each spatial frequency at random; the power spectrum is unchanged."""
    spectrum = torch.fft.rfft2(images.float())
    angle = 1.2 * draws.strength(images, generator) * draws.normal(images, generator, 1, *spectrum.shape[-2:])
    angle[..., 0, 0] = 0  # keeps the mean
    moved: Tensor = torch.fft.irfft2(spectrum * torch.polar(torch.ones_like(angle), angle), s=images.shape[-2:])
    return moved


def swap_patches(images: Tensor, generator: Generator | None = None) -> Tensor:
    """Reorder patches an eighth of a side wide, most of them by short distances; incomplete patches stay in place."""
    size = max(1, min(images.shape[-2:]) // 8)
    strength = draws.strength(images, generator)[..., 0, 0]
    return reorder_patches(
        images,
        size,
        lambda count: (
            torch.arange(count, device=images.device) + 12 * strength * draws.normal(images, generator, count)
        ),
    )


def _ramp(images: Tensor, axis: int) -> Tensor:
    """Positions of the pixels along an axis, from 0 to 1."""
    return (torch.arange(images.shape[axis], device=images.device) + 0.5) / images.shape[axis]


DEGRADATIONS: tuple[Degradation, ...] = (
    convolve,
    recolour,
    warp,
    cover,
    blend,
    add_stripes,
    shift_phases,
    swap_patches,
)

TRAINING_DEGRADATIONS: tuple[Degradation, ...] = (convolve, recolour, warp, cover, add_stripes, shift_phases)
