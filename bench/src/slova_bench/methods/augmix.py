"""AugMix (Hendrycks et al. 2020): softmax trained for equal predictions on an image and two mixtures of its augmented
versions, by a Jensen-Shannon divergence of weight 12; three chains of one to three operations, of the nine published
ones: with posterisation, which the mixtures of the library leave out. Deviation: a temperature is fitted on validation
images. Optimiser, rate and epochs are those of the comparison."""

from dataclasses import replace

import torch
from torch import Tensor, nn
from torch.nn import functional

from slova.vision import draws
from slova.vision.mixtures import mix_operations
from slova.vision.photo_operations import OPERATIONS, WHITE, random_operation, random_strength
from slova_bench.methods import temperature
from slova_bench.stable import stable

WEIGHT = 12


def mixture(images: Tensor) -> Tensor:
    """Each image mixed with the mean, with random weights, of its chains of the published operations."""
    return mix_operations(images, operation=lambda made, _: changed(made))


def changed(images: Tensor) -> Tensor:
    """Each image after one of the nine published operations."""
    few = posterize(images, random_strength(images))
    return torch.where(share(images, 1 / (len(OPERATIONS) + 1)), few, random_operation(images))


def posterize(images: Tensor, strength: Tensor) -> Tensor:
    """4 bits per channel, and 3 from a strength of a quarter on."""
    size = 16 * (1 + (strength[:, None, None, None] >= 0.25).float())
    return ((images * WHITE).round() / size).floor() * size / WHITE


def share(images: Tensor, share: float) -> Tensor:
    """This share of the images (N, 1, 1, 1), each chosen at random."""
    return draws.uniform(images, None, 1, 1, 1) < share


def divergence(logits: list[Tensor]) -> Tensor:
    """The Jensen-Shannon divergence between the predictions of several views, per image, in the mean."""
    probs = torch.stack(logits).softmax(-1)
    middle = probs.mean(0).clamp(1e-7, 1).log()  # as published: no divergence is infinite
    return (probs * (torch.stack(logits).log_softmax(-1) - middle)).sum(-1).mean()


@stable("augmix_loss")
def loss(network: nn.Module, images: Tensor, labels: Tensor, rows: int) -> Tensor:
    views = torch.cat([images, mixture(images), mixture(images)])
    logits = list(network(views).float().split(len(images)))
    return functional.cross_entropy(logits[0], labels) + WEIGHT * divergence(logits)


METHOD = replace(temperature.METHOD, name="augmix", loss=loss)
DEGRADED = replace(temperature.DEGRADED, name="augmix_degraded", loss=loss)
