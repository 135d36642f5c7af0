"""PixMix-like (Hendrycks et al. 2022): softmax trained on images mixed in up to four rounds, with beta = 3, with
augmented versions of themselves and with structured pictures. Deviations: the pictures are fractals drawn by formula,
since the published set is not at hand, and a temperature is fitted on validation images. Optimiser, rate and epochs are
those of the comparison."""

from dataclasses import replace

import torch
from torch import Tensor, nn
from torch.nn import functional

from slova.vision import draws
from slova.vision.mixtures import ROUNDS, fractals, mix
from slova_bench.methods import temperature
from slova_bench.methods.augmix import changed, share
from slova_bench.stable import stable


def mixed(images: Tensor) -> Tensor:
    """Each image, augmented or not, after up to four rounds of mixing."""
    picture, rounds = fractals(images), (draws.strength(images, None) * (ROUNDS + 1)).floor()
    made = torch.where(share(images, 1 / 2), changed(images), images)
    for done in range(ROUNDS):
        other = torch.where(share(images, 1 / 2), changed(images), picture)
        made = torch.where(rounds > done, mix(made, other), made)
    return made


@stable("pixmix_loss")
def loss(network: nn.Module, images: Tensor, labels: Tensor, rows: int) -> Tensor:
    return functional.cross_entropy(network(mixed(images)).float(), labels)


METHOD = replace(temperature.METHOD, name="pixmix", loss=loss)
DEGRADED = replace(temperature.DEGRADED, name="pixmix_degraded", loss=loss)
