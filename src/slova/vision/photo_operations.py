"""The operations of AugMix and PixMix (Hendrycks et al. 2020, 2022) for whole batches, at their severity of 3.

Autocontrast, equalisation, solarisation, rotation, shears and translations; none is a corruption of the benchmark.
Posterisation, the ninth published one, is left out, because it is a degradation for choosing between models
(`held_out_degradations`). Images are floats (N, C, H, W) in [0, 1] and are rounded to 256 levels, as the published code
does. Each image gets an operation and a strength of its own. Without a generator random numbers are drawn on the device
of the images, without synchronisation, so that a training step can be captured as a CUDA graph.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Generator, Tensor
from torch.nn import functional

from slova._batches import can_be_read
from slova.vision import draws

__all__ = ["OPERATIONS", "WHITE", "apply_operation", "random_operation", "random_strength"]

WHITE = 255
SEVERITY = 3.0  # of 10
OPERATIONS = ("autocontrast", "equalize", "solarize", "rotate", "shear_x", "shear_y", "move_x", "move_y")


def random_operation(images: Tensor, generator: Generator | None = None) -> Tensor:
    """Each image after one operation, chosen at random, at a random strength."""
    chosen = (draws.uniform(images, generator) * len(OPERATIONS)).long()
    sign = 1 - 2 * (draws.uniform(images, generator) < 0.5).float()
    return apply_operation(images, chosen, random_strength(images, generator), sign)


def random_strength(images: Tensor, generator: Generator | None = None) -> Tensor:
    """One number (N,) per image, in [0, 1] and at most the severity."""
    return (0.1 + (SEVERITY - 0.1) * draws.uniform(images, generator)) / 10


def apply_operation(images: Tensor, chosen: Tensor, strength: Tensor, sign: Tensor) -> Tensor:
    """Each image after the operation of its number in `OPERATIONS`, at its strength in [0, 1] and in the direction of
    its sign; all three are (N,)."""
    levels = made = (images * WHITE).round()
    parts = levels, chosen, strength, sign
    for number, operation in enumerate(CHANGES):
        own = chosen >= number if operation is _move else chosen == number
        made = _replace_some(own, made, parts, operation)
    return made / WHITE


def _replace_some(own: Tensor, images: Tensor, parts: tuple[Tensor, ...], change: Callable[..., Tensor]) -> Tensor:
    """The images (N, C, H, W), of which some, `own` (N,), are what `change` makes of their rows of the parts. On a
    device it is given all rows: which ones they are cannot be read there without synchronisation."""
    if not can_be_read(images):
        return torch.where(_column(own), change(*parts), images)
    rows = own.nonzero()[:, 0]
    return images.index_copy(0, rows, change(*(part[rows] for part in parts))) if len(rows) else images


def _autocontrast(levels: Tensor, *_: Tensor) -> Tensor:
    """Each channel stretched from its darkest and brightest pixel to 0 and 255."""
    low, high = levels.amin((2, 3), keepdim=True), levels.amax((2, 3), keepdim=True)
    return torch.where(high > low, ((levels - low) * WHITE / (high - low).clamp_min(1)).floor(), levels)


def _equalize(levels: Tensor, *_: Tensor) -> Tensor:
    """Each channel with about as many pixels of each level, by integers as in the published code; unchanged where the
    pixels, without the brightest ones, are too few for 255 levels."""
    pixels = levels.flatten(2).long()
    counts = torch.zeros(*pixels.shape[:2], WHITE + 1, device=levels.device)
    counts = counts.scatter_add(2, pixels, torch.ones_like(pixels, dtype=counts.dtype))
    below = counts.cumsum(2) - counts
    brightest = counts.gather(2, pixels.amax(2, keepdim=True))
    step = ((pixels.shape[2] - brightest) / WHITE).floor()
    table = ((below + (step / 2).floor()) / step.clamp_min(1)).floor().clamp(0, WHITE)
    return torch.where(step[..., None] > 0, table.gather(2, pixels).view_as(levels), levels)


def _solarize(levels: Tensor, chosen: Tensor, strength: Tensor, sign: Tensor) -> Tensor:
    """Levels above a threshold are inverted."""
    threshold = WHITE + 1 - ((WHITE + 1) * _column(strength)).floor()
    return torch.where(levels < threshold, levels, WHITE - levels)


def _move(levels: Tensor, chosen: Tensor, strength: Tensor, sign: Tensor) -> Tensor:
    """Rotated, sheared or translated."""
    return _transform(levels, *_affine(levels, chosen, strength * sign)).round()


def _affine(levels: Tensor, chosen: Tensor, amount: Tensor) -> tuple[Tensor, Tensor]:
    """The rows (N, 3) of matrices from the pixels of the result to those of the image; the identity for operations that
    are not geometric."""
    height, width = levels.shape[-2:]
    part = {name: amount * (chosen == number) for number, name in enumerate(OPERATIONS)}
    angle = (30 * part["rotate"]).trunc() * math.pi / 180
    cos, sin = angle.cos(), angle.sin()
    across = (part["move_x"] * width / 3).trunc() + (width - cos * width - sin * height) / 2
    down = (part["move_y"] * height / 3).trunc() + (height + sin * width - cos * height) / 2
    first = torch.stack([cos, sin + 0.3 * part["shear_x"], across], dim=1)
    second = torch.stack([-sin + 0.3 * part["shear_y"], cos, down], dim=1)
    return first, second


def _transform(levels: Tensor, first: Tensor, second: Tensor) -> Tensor:
    """The pixel (x, y) is taken from (first, second) . (x, y, 1), bilinearly; outside of the image it is black. Pixels
    are counted from the upper left corner, their centres at halves."""
    height, width = levels.shape[-2:]
    down, across = (torch.arange(size, device=levels.device) + 0.5 for size in (height, width))
    x, y = (
        row[:, 0, None, None] * across + row[:, 1, None, None] * down[:, None] + row[:, 2, None, None]
        for row in (first, second)
    )
    grid = torch.stack([2 * x / width - 1, 2 * y / height - 1], dim=-1)
    inside = (x >= 0) & (x < width) & (y >= 0) & (y < height)
    return functional.grid_sample(levels, grid, padding_mode="border", align_corners=False) * inside[:, None]


def _column(values: Tensor) -> Tensor:
    return values[:, None, None, None]


CHANGES: tuple[Callable[..., Tensor], ...] = (_autocontrast, _equalize, _solarize, _move)  # the last is all the others
