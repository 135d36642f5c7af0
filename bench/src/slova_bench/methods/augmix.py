"""AugMix (Hendrycks et al. 2020): softmax trained for equal predictions on an image and two mixtures of its augmented
versions, by a Jensen-Shannon divergence of weight 12; three chains of one to three operations. Deviation: a temperature
is fitted on validation images. Optimiser, rate and epochs are those of the comparison."""

from dataclasses import replace

import torch
from torch import Tensor, nn
from torch.nn import functional

from slova.vision.mixtures import mix_operations
from slova_bench.methods import temperature
from slova_bench.published_mixtures import changed
from slova_bench.stable import stable

WEIGHT = 12


def mixture(images: Tensor) -> Tensor:
    """Each image mixed with the mean, with random weights, of its chains of the published operations."""
    return mix_operations(images, operation=lambda made, _: changed(made))


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
