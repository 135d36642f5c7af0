"""Batched augmentation of uint8 images (N, C, H, W) on their device, with an explicit generator."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from slova_bench.stable import stable

__all__ = ["crop", "crop_flip", "nothing", "shift_flip"]

PAD = 4
SHIFT = 0.1  # of the side


@stable("crop_flip")
def crop_flip(images: Tensor, generator: torch.Generator) -> Tensor:
    """A random crop of the image padded by four pixels, and a random horizontal flip: the standard for CIFAR."""
    flipped = torch.rand(len(images), generator=generator) < 0.5
    columns = torch.arange(images.shape[-1]).repeat(len(images), 1)
    return _cut(images, generator, torch.where(flipped[:, None], columns.flip(1), columns))


@stable("crop")
def crop(images: Tensor, generator: torch.Generator) -> Tensor:
    """A random crop without flips, for digits."""
    return _cut(images, generator, torch.arange(images.shape[-1]).repeat(len(images), 1))


@stable("shift_flip")
def shift_flip(images: Tensor, generator: torch.Generator) -> Tensor:
    """A random shift by up to a tenth of the side, edges repeated, and a random horizontal flip: the augmentation of
    SLOVA's code. Shifts are fractions of a pixel, between which the images are interpolated, which blurs them."""
    count = len(images)
    moves = 2 * SHIFT * (2 * torch.rand(count, 2, generator=generator) - 1)  # a side is two units
    flips = torch.where(torch.rand(count, generator=generator) < 0.5, -1.0, 1.0)
    across = torch.stack([flips, torch.zeros(count), moves[:, 0]], dim=1)
    down = torch.stack([torch.zeros(count), torch.ones(count), moves[:, 1]], dim=1)
    maps = torch.stack([across, down], dim=1).to(images.device)
    grid = functional.affine_grid(maps, list(images.shape), align_corners=False)
    moved = functional.grid_sample(images.float(), grid, padding_mode="border", align_corners=False)
    return moved.round().to(images.dtype)


@stable("no_augmentation")
def nothing(images: Tensor, generator: torch.Generator) -> Tensor:
    """The unchanged images."""
    return images


def _cut(images: Tensor, generator: torch.Generator, columns: Tensor) -> Tensor:
    """Each image shifted by up to PAD pixels, or an eighth of a small one, with black padding; `columns` (N, W) select
    its columns."""
    count, channels, height, width = images.shape
    pad = min(PAD, height // 8)
    shifts = torch.randint(0, 2 * pad + 1, (2, count, 1), generator=generator)
    rows = (torch.arange(height) + shifts[0]).to(images.device)
    columns = (columns + shifts[1]).to(images.device)
    padded = functional.pad(images, (pad, pad, pad, pad))
    place = rows[:, :, None] * (width + 2 * pad) + columns[:, None, :]
    index = place.view(count, 1, height * width).expand(-1, channels, -1)
    return padded.flatten(2).gather(2, index).view(count, channels, height, width)
