"""Mixtures: an image mixed with changed versions of itself or with other pictures; it keeps its class.

`mix_operations` follows AugMix (Hendrycks et al. 2020), `mix_fractals` follows PixMix (Hendrycks et al. 2022) with
fractals that are drawn by formula: Julia sets, and folded ones ("burning ships"), in random colours. Both are functions
of images in [0, 1] and a generator, as degradations are (`degradations`), and are for training alone.
"""

from __future__ import annotations

import math

import torch
from torch import Generator, Tensor

from slova.vision import draws
from slova.vision.degradations import Degradation
from slova.vision.photo_operations import random_operation

__all__ = ["TRAINING_MIXTURES", "fractals", "mix", "mix_fractals", "mix_operations"]

CHAINS, DEPTH = 3, 3  # of AugMix
ROUNDS, BETA = 4, 3  # of PixMix
STEPS = 16
FAR = 8.0  # coordinates end here, where exp(-distance) is nothing


def mix_operations(
    images: Tensor, generator: Generator | None = None, *, operation: Degradation = random_operation
) -> Tensor:
    """Mix each image with the mean, with random weights, of three chains of one to three operations each.

    >>> mix_operations(torch.rand(8, 3, 32, 32)).shape
    torch.Size([8, 3, 32, 32])
    """
    made = images.repeat(CHAINS, 1, 1, 1)
    depth = (DEPTH * draws.uniform(made, generator, 1, 1, 1)).floor()  # one less than the number of operations
    for done in range(DEPTH):
        made = torch.where(depth >= done, operation(made, generator), made)
    shares = -(1 - draws.rand((CHAINS, len(images), 1, 1, 1), images, generator)).log()  # Dirichlet(1, 1, 1), once
    shares = shares / shares.sum(0)  # they add up to one
    mixed = (shares * made.view(CHAINS, *images.shape)).sum(0)
    return torch.lerp(images, mixed, draws.strength(images, generator))


def mix_fractals(images: Tensor, generator: Generator | None = None) -> Tensor:
    """Mix each image in up to four rounds, each with a fractal or with the image after an operation.

    >>> mix_fractals(torch.rand(8, 3, 32, 32)).shape
    torch.Size([8, 3, 32, 32])
    """
    picture, changed = fractals(images, generator), random_operation(images, generator)
    rounds, made = (draws.strength(images, generator) * (ROUNDS + 1)).floor(), images
    for done in range(ROUNDS):
        other = torch.where(_half(images, generator), changed, picture)
        made = torch.where(rounds > done, mix(made, other, generator), made)
    return made


def mix(images: Tensor, others: Tensor, generator: Generator | None = None) -> Tensor:
    """a x + b y, or x^a y^b, with a near 1 and b near 0, positive or negative, both Beta distributed."""
    near, far = (1 - (1 - draws.strength(images, generator)) ** (1 / BETA) for _ in range(2))
    sign = 1 - 2 * _half(images, generator).float()
    a, b = 1 - sign * near, sign * far
    added = (a * (2 * images - 1) + b * (2 * others - 1) + 1) / 2
    multiplied = (2 * images) ** a * (2 * others).clamp_min(1e-37) ** b / 2  # a negative power of zero is infinite
    return torch.where(_half(images, generator), added, multiplied).clamp(0, 1)


def fractals(images: Tensor, generator: Generator | None = None) -> Tensor:
    """As many pictures as there are images, of their shape, in [0, 1].

    The iteration is z -> z^2 + c, with c near the border of the Mandelbrot set, where the sets have most detail; the
    first half of the pictures takes absolute values of both coordinates before. The colour is a wave of the sum of
    exp(-|z|), which is smooth inside and outside of the set.
    """
    (across, down), (real, imaginary) = _places(images, generator), _constants(images, generator)
    folded, total = len(images) // 2, torch.zeros_like(across)
    for _ in range(STEPS):
        across[:folded].abs_()
        down[:folded].abs_()
        square = torch.addcmul(torch.addcmul(real, across, across), down, down, value=-1)
        down = torch.addcmul(imaginary, across, down, value=2).clamp_(-FAR, FAR)
        across = square.clamp_(-FAR, FAR)
        total += (-torch.hypot(across, down)).exp()
    channels = images.shape[1]
    waves = 0.3 + 1.7 * draws.uniform(images, generator, channels, 1, 1)
    return 0.5 + 0.5 * (waves * total + 2 * math.pi * draws.uniform(images, generator, channels, 1, 1)).sin()


def _places(images: Tensor, generator: Generator | None) -> tuple[Tensor, Tensor]:
    """The points (N, 1, H, W) of the pixels: a turned window, 0.6 to 3 wide, within a distance of 0.5 of zero."""
    height, width = images.shape[-2:]
    down, across = ((torch.arange(size, device=images.device) + 0.5) / size - 0.5 for size in (height, width))
    scale, angle = 0.6 + 2.4 * _number(images, generator), 2 * math.pi * _number(images, generator)
    x = scale * (angle.cos() * across + angle.sin() * down[:, None]) + _number(images, generator) - 0.5
    y = scale * (angle.cos() * down[:, None] - angle.sin() * across) + _number(images, generator) - 0.5
    return x, y


def _constants(images: Tensor, generator: Generator | None) -> tuple[Tensor, Tensor]:
    """c (N, 1, 1, 1) on the cardioid of the Mandelbrot set, and up to a fifth further out."""
    angle, factor = 2 * math.pi * _number(images, generator), 1 + 0.2 * _number(images, generator)
    real, imaginary = (wave(angle) / 2 - wave(2 * angle) / 4 for wave in (torch.cos, torch.sin))
    return factor * real, factor * imaginary


def _half(images: Tensor, generator: Generator | None) -> Tensor:
    """Half of the images (N, 1, 1, 1), each chosen by a coin."""
    return _number(images, generator) < 0.5


def _number(images: Tensor, generator: Generator | None) -> Tensor:
    """One number in [0, 1) per image (N, 1, 1, 1), which is not the strength of a mixture."""
    return draws.uniform(images, generator, 1, 1, 1)


TRAINING_MIXTURES: tuple[Degradation, ...] = (mix_operations, mix_fractals)
