"""Degradations that are in no training: for the calibration fit, and for choosing between models.

A network is more accurate on degradations that it was trained on than on those that it meets later. A calibrator must
therefore be fitted on other kinds (`CALIBRATION_DEGRADATIONS`), and choices between recipes must be made by a third set
(`SELECTION_DEGRADATIONS`). The three sets are disjoint:

>>> from slova.vision import degrade
>>> degraded = degrade(torch.rand(8, 3, 32, 32), kinds=CALIBRATION_DEGRADATIONS)
>>> [kind.__name__ for kind in CALIBRATION_DEGRADATIONS]
['blend', 'swap_patches', 'displace_channels', 'shift_rows', 'bend_tones']
>>> [kind.__name__ for kind in SELECTION_DEGRADATIONS]
['tilt', 'twist', 'posterise', 'add_gradient', 'cover_lines']

The kinds have the signature of those in `degradations`, and differ from the corruptions of the benchmark as those do.
"""

from __future__ import annotations

import math

import torch
from torch import Generator, Tensor
from torch.nn import functional

from slova.vision import draws
from slova.vision.degradations import Degradation, blend, swap_patches

__all__ = [
    "CALIBRATION_DEGRADATIONS",
    "SELECTION_DEGRADATIONS",
    "add_gradient",
    "bend_tones",
    "cover_lines",
    "displace_channels",
    "posterise",
    "shift_rows",
    "tilt",
    "twist",
]


def displace_channels(images: Tensor, generator: Generator | None = None) -> Tensor:
    """Shift each channel by up to a sixth of a side, in its own direction; borders are reflected."""
    count, channels = images.shape[:2]
    strength = draws.strength(images, generator)
    shifts = strength * (2 * draws.uniform(images, generator, channels, 1, 2) - 1) / 3
    single = images.reshape(count * channels, 1, *images.shape[2:])
    return _sample(single, _plane(single) + shifts.reshape(count * channels, 1, 1, 2)).view_as(images)


def shift_rows(images: Tensor, generator: Generator | None = None) -> Tensor:
    """Shift each row of pixels sideways by a random distance, at most a twentieth of a side on average."""
    shifts = draws.strength(images, generator) * draws.normal(images, generator, images.shape[-2], 1, 1) / 8
    return _sample(images, _plane(images) + torch.cat([shifts, 0 * shifts], dim=-1))


def bend_tones(images: Tensor, generator: Generator | None = None) -> Tensor:
    """Add to each value a wave of it, one to two periods from black to white: a random tone curve per channel."""
    channels = images.shape[1]
    periods = 1 + draws.uniform(images, generator, channels, 1, 1)
    phase = draws.uniform(images, generator, channels, 1, 1)
    return images + 0.3 * draws.strength(images, generator) * torch.sin(2 * math.pi * (periods * images + phase))


def tilt(images: Tensor, generator: Generator | None = None) -> Tensor:
    """Perspective: one side of the image comes nearer, the opposite one goes away; borders are reflected."""
    slope = 0.5 * draws.strength(images, generator) * _direction(images, generator)
    plane = _plane(images)
    depth = 1 + (plane * slope).sum(-1, keepdim=True)
    return _sample(images, plane / depth.clamp_min(0.1))


def twist(images: Tensor, generator: Generator | None = None) -> Tensor:
    """Turn the centre by up to 110 degrees, and points further out by less."""
    plane = _plane(images)
    side = torch.where(draws.uniform(images, generator, 1, 1) < 0.5, -1.0, 1.0)
    near = torch.exp(-2 * plane.square().sum(-1))
    turn = 1.9 * draws.strength(images, generator)[..., 0] * side * near
    across, down = plane.unbind(-1)
    return _sample(
        images,
        torch.stack([across * turn.cos() - down * turn.sin(), across * turn.sin() + down * turn.cos()], dim=-1),
    )


def posterise(images: Tensor, generator: Generator | None = None) -> Tensor:
    """Round the values to few levels, from sixteen steps to one and a half, at random thresholds."""
    steps = 16 * (1.5 / 16) ** draws.strength(images, generator)
    offset = draws.uniform(images, generator, images.shape[1], 1, 1)
    return (torch.floor(images * steps + offset) - offset + 0.5) / steps


def add_gradient(images: Tensor, generator: Generator | None = None) -> Tensor:
    """Add a colour that increases from one side of the image to the other, negative on the first."""
    along = (_plane(images) * _direction(images, generator)).sum(-1)[:, None]
    colour = draws.normal(images, generator, images.shape[1], 1, 1).clamp(-1.5, 1.5)
    return images + 0.5 * draws.strength(images, generator) * along * colour


def cover_lines(images: Tensor, generator: Generator | None = None) -> Tensor:
    """Cover a grid of lines of one random colour, three to six a side, up to a third of a cell thick."""
    cells = 3 + 3 * draws.uniform(images, generator, 1, 1, 1)
    thickness = draws.strength(images, generator)[..., 0] / 3
    places = (_plane(images) + 1) / 2 * cells + draws.uniform(images, generator, 1, 1, 2)
    lines = (places.frac() < thickness[..., None]).any(-1)[:, None]
    return torch.where(lines, draws.uniform(images, generator, images.shape[1], 1, 1), images)


def _plane(images: Tensor) -> Tensor:
    """Coordinates (N, H, W, 2) of the pixels, across and down, from -1 to 1."""
    down, across = ((2 * torch.arange(length, device=images.device) + 1) / length - 1 for length in images.shape[-2:])
    plane = torch.stack([across.expand(len(down), -1), down[:, None].expand(-1, len(across))], dim=-1)
    return plane.expand(len(images), -1, -1, -1)


def _direction(images: Tensor, generator: Generator | None) -> Tensor:
    """One direction (N, 1, 1, 2) of length 1 per image."""
    angle = 2 * math.pi * draws.uniform(images, generator, 1, 1)
    return torch.stack([angle.cos(), angle.sin()], dim=-1)


def _sample(images: Tensor, places: Tensor) -> Tensor:
    return functional.grid_sample(images.float(), places, padding_mode="reflection", align_corners=False)


CALIBRATION_DEGRADATIONS: tuple[Degradation, ...] = (blend, swap_patches, displace_channels, shift_rows, bend_tones)
SELECTION_DEGRADATIONS: tuple[Degradation, ...] = (tilt, twist, posterise, add_gradient, cover_lines)
