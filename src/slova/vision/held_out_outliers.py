"""Outliers that are in no training: for the calibration fit, and for choosing between models.

`CALIBRATION_OUTLIERS` are the NONE rows of a calibration fit, `SELECTION_OUTLIERS` decide between recipes and mixes.
Both are disjoint from `TRAINING_OUTLIERS`, and the kinds have the same signature:

>>> from slova.vision import add_outliers
>>> images, labels = add_outliers(torch.rand(8, 3, 32, 32), torch.arange(8), kinds=SELECTION_OUTLIERS)
>>> [kind.__name__ for kind in CALIBRATION_OUTLIERS]
['halve', 'paste', 'scramble', 'pink_noise']
>>> [kind.__name__ for kind in SELECTION_OUTLIERS]
['average_two', 'mosaic', 'gratings', 'discs', 'random_network']
"""

from __future__ import annotations

import math

import torch
from torch import Generator, Tensor
from torch.nn import functional

from slova.vision import draws
from slova.vision.outliers import Outlier, zoom
from slova.vision.patches import reorder_patches

__all__ = [
    "CALIBRATION_OUTLIERS",
    "SELECTION_OUTLIERS",
    "average_two",
    "discs",
    "gratings",
    "halve",
    "mosaic",
    "paste",
    "pink_noise",
    "random_network",
    "scramble",
]


def halve(images: Tensor, generator: Generator | None = None) -> Tensor:
    """Join halves of two images, side by side or one above the other."""
    across, down = _pixels(images)
    beside = draws.uniform(images, generator, 1, 1, 1) < 0.5
    seam = 0.4 + 0.2 * draws.uniform(images, generator, 1, 1, 1)
    return torch.where(torch.where(beside, across, down) < seam, images, _another(images, generator))


def paste(images: Tensor, generator: Generator | None = None) -> Tensor:
    """Paste an enlarged crop of each image onto another image, 70 to 85 percent of a side wide."""
    across, down = _pixels(images)
    half = 0.35 + 0.075 * draws.uniform(images, generator, 1, 1, 1)
    centre = half + (1 - 2 * half) * draws.uniform(images, generator, 2, 1, 1)
    inside = ((across - centre[:, :1]).abs() < half) & ((down - centre[:, 1:]).abs() < half)
    return torch.where(inside, zoom(images, generator), _another(images, generator))


def scramble(images: Tensor, generator: Generator | None = None) -> Tensor:
    """Permute small patches, an eighth of a side wide, and the channels of each image."""
    channels = draws.uniform(images, generator, images.shape[1]).argsort(-1)
    mixed = images.gather(1, channels[:, :, None, None].expand_as(images))
    size = max(1, min(images.shape[-2:]) // 8)
    return reorder_patches(mixed, size, lambda count: draws.uniform(images, generator, count))


def pink_noise(images: Tensor, generator: Generator | None = None) -> Tensor:
    """Coloured noise whose amplitude falls with the frequency, as in photographs, by a random power of 0.7 to 1.7."""
    height, width = images.shape[-2:]
    down, across = (torch.fft.fftfreq(height, device=images.device), torch.fft.rfftfreq(width, device=images.device))
    distance = (down[:, None].square() + across.square()).clamp_min(1 / max(height, width) ** 2).sqrt()
    power = 0.7 + draws.uniform(images, generator, 1, 1, 1)
    white = draws.normal(images, generator, *images.shape[1:]) + 2 * draws.normal(images, generator, 1, height, width)
    noise: Tensor = torch.fft.irfft2(torch.fft.rfft2(white) / distance**power, s=(height, width))
    noise = noise - noise.mean((2, 3), keepdim=True)
    spread = noise.square().mean((1, 2, 3), keepdim=True).sqrt().clamp_min(1e-6)  # one pixel has no spread
    middle = 0.3 + 0.4 * draws.uniform(images, generator, images.shape[1], 1, 1)
    return (middle + 0.22 * noise / spread).clamp(0, 1).to(images)


def average_two(images: Tensor, generator: Generator | None = None) -> Tensor:
    """The mean of each image and another image of the batch."""
    return (images + _another(images, generator)) / 2


def mosaic(images: Tensor, generator: Generator | None = None) -> Tensor:
    """A grid of four by four cells, each from an image of the batch chosen at random."""
    across, down = _pixels(images)
    cells = ((4 * down).long() * 4 + (4 * across).long()).expand(len(images), 1, -1, -1)
    chosen = (draws.uniform(images, generator, 16) * len(images)).long()
    source = chosen.gather(1, cells.flatten(1)).view_as(cells)
    return images.gather(0, source.expand_as(images))


def gratings(images: Tensor, generator: Generator | None = None) -> Tensor:
    """Coloured waves of random direction and length, a half to seven per image."""
    across, down = _pixels(images)
    angle = 2 * math.pi * draws.uniform(images, generator, 1, 1, 1)
    phase = 2 * math.pi * draws.uniform(images, generator, images.shape[1], 1, 1)
    waves = 2 * math.pi * (0.5 + 6.5 * draws.uniform(images, generator, 1, 1, 1))
    wave = torch.sin(waves * (across * angle.cos() + down * angle.sin()) + phase)
    return (0.5 + 0.5 * draws.uniform(images, generator, images.shape[1], 1, 1) * wave).to(images)


def discs(images: Tensor, generator: Generator | None = None) -> Tensor:
    """Twenty-five discs of one colour that cover each other: the "dead leaves" of image statistics."""
    across, down = _pixels(images)
    made = draws.uniform(images, generator, images.shape[1], 1, 1).expand(images.shape)
    for _ in range(25):
        place = draws.uniform(images, generator, 2, 1, 1)
        radius = 0.06 + 0.3 * draws.uniform(images, generator, 1, 1, 1) ** 2
        inside = (across - place[:, :1]) ** 2 + (down - place[:, 1:]) ** 2 < radius**2
        made = torch.where(inside, draws.uniform(images, generator, images.shape[1], 1, 1), made)
    return made.to(images)


def random_network(images: Tensor, generator: Generator | None = None) -> Tensor:
    """Smooth noise passed through a random network of three layers, one network per image."""
    height, width = images.shape[-2:]
    scales = [draws.normal(images, generator, 4, max(1, height // step), max(1, width // step)) for step in (4, 16)]
    smooth = [functional.interpolate(scale, size=(height, width), mode="bilinear") for scale in scales]
    found = torch.cat(smooth, dim=1).flatten(2)
    for wide in (16, 16, images.shape[1]):
        weights = draws.normal(images, generator, wide, found.shape[1]) * 1.3 / math.sqrt(found.shape[1])
        found = torch.sin(weights @ found)
    return (0.5 + 0.5 * found).view(images.shape).to(images)


def _pixels(images: Tensor) -> tuple[Tensor, Tensor]:
    """Positions of the pixels across (1, 1, 1, W) and down (1, 1, H, 1), from 0 to 1."""
    down, across = ((torch.arange(length, device=images.device) + 0.5) / length for length in images.shape[-2:])
    return across.view(1, 1, 1, -1), down.view(1, 1, -1, 1)


def _another(images: Tensor, generator: Generator | None) -> Tensor:
    """For each image another one of the batch: the batch shifted by a random number of rows."""
    shift = 1 + (draws.rand((), images, generator) * max(1, len(images) - 1)).long()
    return images[(torch.arange(len(images), device=images.device) + shift) % len(images)]


CALIBRATION_OUTLIERS: tuple[Outlier, ...] = (halve, paste, scramble, pink_noise)
SELECTION_OUTLIERS: tuple[Outlier, ...] = (average_two, mosaic, gratings, discs, random_network)
