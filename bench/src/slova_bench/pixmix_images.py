"""Images of PixMix (Hendrycks et al. 2022), mixed with pictures of fractals that are drawn by formula: Julia sets, and
folded ones ("burning ships"), in random colours. The published pictures are fractals and feature visualisations.

Random numbers are drawn on the device of the images, without synchronisation.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from slova.vision import draws
from slova_bench.photo_operations import random_operation

__all__ = ["fractals", "mix", "mixed"]

ROUNDS, BETA = 4, 3
STEPS = 24
FAR = 8.0  # coordinates end here, where exp(-distance) is nothing


def mixed(images: Tensor) -> Tensor:
    """Each image, augmented or not, after up to four rounds of mixing."""
    picture, rounds = fractals(images), (draws.strength(images, None) * (ROUNDS + 1)).floor()
    made = torch.where(_half(images), random_operation(images), images)
    for done in range(ROUNDS):
        other = torch.where(_half(images), random_operation(images), picture)
        made = torch.where(rounds > done, mix(made, other), made)
    return made


def mix(images: Tensor, others: Tensor) -> Tensor:
    """a x + b y, or x^a y^b, with a near 1 and b near 0, positive or negative, both Beta distributed."""
    near, far = (1 - draws.strength(images, None) ** (1 / BETA) for _ in range(2))
    sign = 1 - 2 * _half(images).float()
    a, b = 1 - sign * near, sign * far
    added = (a * (2 * images - 1) + b * (2 * others - 1) + 1) / 2
    multiplied = (2 * images) ** a * (2 * others).clamp_min(1e-37) ** b / 2  # a negative power of zero is infinite
    return torch.where(_half(images), added, multiplied).clamp(0, 1)


def _half(images: Tensor) -> Tensor:
    return draws.strength(images, None) < 0.5


def fractals(images: Tensor) -> Tensor:
    """As many pictures as there are images, of their shape, in [0, 1].

    The iteration is z -> z^2 + c, with c near the border of the Mandelbrot set, where the sets have most detail; half
    of the pictures take absolute values of both coordinates first. The colour is a wave of the sum of exp(-|z|), which
    is smooth inside and outside of the set.
    """
    (across, down), (real, imaginary) = _places(images), _constants(images)
    folded = draws.strength(images, None) < 0.5
    total = torch.zeros_like(across)
    for _ in range(STEPS):
        across, down = torch.where(folded, across.abs(), across), torch.where(folded, down.abs(), down)
        across, down = across.square() - down.square() + real, 2 * across * down + imaginary
        across, down = across.clamp(-FAR, FAR), down.clamp(-FAR, FAR)
        total = total + (-(across.square() + down.square()).sqrt()).exp()
    channels = images.shape[1]
    waves = 0.3 + 1.7 * draws.uniform(images, None, channels, 1, 1)
    return 0.5 + 0.5 * (waves * total + 2 * math.pi * draws.uniform(images, None, channels, 1, 1)).sin()


def _places(images: Tensor) -> tuple[Tensor, Tensor]:
    """The points (N, 1, H, W) of the pixels: a turned window, 0.6 to 3 wide, within a distance of 0.5 of zero."""
    height, width = images.shape[-2:]
    down, across = ((torch.arange(size, device=images.device) + 0.5) / size - 0.5 for size in (height, width))
    scale, angle = 0.6 + 2.4 * draws.strength(images, None), 2 * math.pi * draws.strength(images, None)
    x = scale * (angle.cos() * across + angle.sin() * down[:, None]) + draws.strength(images, None) - 0.5
    y = scale * (angle.cos() * down[:, None] - angle.sin() * across) + draws.strength(images, None) - 0.5
    return x, y


def _constants(images: Tensor) -> tuple[Tensor, Tensor]:
    """c (N, 1, 1, 1) on the cardioid of the Mandelbrot set, and up to a fifth further out."""
    angle, factor = 2 * math.pi * draws.strength(images, None), 1 + 0.2 * draws.strength(images, None)
    real, imaginary = (wave(angle) / 2 - wave(2 * angle) / 4 for wave in (torch.cos, torch.sin))
    return factor * real, factor * imaginary
