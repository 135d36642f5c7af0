"""Images of AugMix and PixMix (Hendrycks et al. 2020, 2022) as published: with posterisation, which the mixtures of the
library leave out, and images of PixMix that are changed before they are mixed. The pictures of PixMix are fractals that
are drawn by formula, since the published set is not at hand."""

from __future__ import annotations

import torch
from torch import Tensor

from slova.vision import draws
from slova.vision.mixtures import ROUNDS, fractals, mix
from slova.vision.photo_operations import OPERATIONS, WHITE, random_operation, random_strength

__all__ = ["changed", "mixed", "posterize"]


def mixed(images: Tensor) -> Tensor:
    """Each image, augmented or not, after up to four rounds of mixing."""
    picture, rounds = fractals(images), (draws.strength(images, None) * (ROUNDS + 1)).floor()
    made = torch.where(_share(images, 1 / 2), changed(images), images)
    for done in range(ROUNDS):
        other = torch.where(_share(images, 1 / 2), changed(images), picture)
        made = torch.where(rounds > done, mix(made, other), made)
    return made


def changed(images: Tensor) -> Tensor:
    """Each image after one of the nine published operations."""
    few = posterize(images, random_strength(images))
    return torch.where(_share(images, 1 / (len(OPERATIONS) + 1)), few, random_operation(images))


def posterize(images: Tensor, strength: Tensor) -> Tensor:
    """4 bits per channel, and 3 from a strength of a quarter on."""
    size = 16 * (1 + (strength[:, None, None, None] >= 0.25).float())
    return ((images * WHITE).round() / size).floor() * size / WHITE


def _share(images: Tensor, share: float) -> Tensor:
    """This share of the images (N, 1, 1, 1), each chosen at random."""
    return draws.uniform(images, None, 1, 1, 1) < share
