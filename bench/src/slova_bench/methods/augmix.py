"""AugMix (Hendrycks et al. 2020): softmax trained for equal predictions on an image and two mixtures of its augmented
versions, by a Jensen-Shannon divergence of weight 12; three chains of one to three operations. Deviation: a temperature
is fitted on validation images. Optimiser, rate and epochs are those of the comparison."""

from dataclasses import replace

import torch
from torch import Tensor, nn
from torch.nn import functional

from slova.vision import draws
from slova_bench.methods import temperature
from slova_bench.photo_operations import random_operation
from slova_bench.stable import stable

WEIGHT, CHAINS, DEPTH = 12, 3, 3


def mixture(images: Tensor) -> Tensor:
    """Each image mixed with the mean, with random weights, of its chains of operations."""
    made = images.repeat(CHAINS, 1, 1, 1)
    depth = (DEPTH * draws.uniform(made, None, 1, 1, 1)).floor()  # one less than the number of operations
    for done in range(DEPTH):
        made = torch.where(depth >= done, random_operation(made), made)
    shares = -(1 - draws.rand((CHAINS, len(images), 1, 1, 1), images, None)).log()  # Dirichlet(1, 1, 1), once they
    shares = shares / shares.sum(0)  # add up to one
    mixed = (shares * made.view(CHAINS, *images.shape)).sum(0)
    return torch.lerp(images, mixed, draws.strength(images, None))


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
