"""ACET (Hein et al. 2019): CEDA whose noise is first moved, by up to 0.3 per pixel, to where the confidence is highest.

The attack is expensive: a quarter as many noise images as clean ones, with the weight of CEDA's; `acet_full` has all.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial

import torch
from torch import Tensor, nn

from slova._batches import evaluation_mode
from slova.vision.outliers import low_pass
from slova_bench.methods import ceda
from slova_bench.stable import stable

EPSILON = 0.3


def attack(network: nn.Module, noise: Tensor, steps: int) -> Tensor:
    """Signed gradient ascent on the confidence from a random start; the best image of each row is kept."""
    start = noise + EPSILON * (2 * torch.rand_like(noise) - 1) * torch.rand(len(noise), 1, 1, 1, device=noise.device)
    with _frozen(network):
        images, best, highest = start.clamp(0, 1), noise, ceda.confidence(network(noise)).detach()
        for step in range(steps + 1):
            images = images.detach().requires_grad_(step < steps)  # the last images are only compared
            values = ceda.confidence(network(images))
            better = values.detach() > highest
            best = torch.where(better[:, None, None, None], images.detach(), best)
            highest = torch.maximum(values.detach(), highest)
            if step < steps:
                (slope,) = torch.autograd.grad(values.sum(), images)
                moved = (images.detach() + EPSILON / steps * slope.sign()).clamp(0, 1)
                images = torch.clamp(moved, noise - EPSILON, noise + EPSILON)
    return best


@contextmanager
def _frozen(network: nn.Module) -> Iterator[None]:
    """Evaluation mode with fixed weights, so that a compiled network computes gradients of the images only."""
    learned = [weight for weight in network.parameters() if weight.requires_grad]
    network.requires_grad_(False)
    try:
        with evaluation_mode(network), torch.enable_grad():
            yield
    finally:
        for weight in learned:
            weight.requires_grad_()


@stable("acet_loss")
def loss(network: nn.Module, images: Tensor, labels: Tensor, rows: int, steps: int = 40, share: float = 0.25) -> Tensor:
    noise = low_pass(images[: max(1, round(share * len(images)))])
    return ceda.together(network, images, labels, attack(network, noise, steps))


METHOD = replace(ceda.METHOD, name="acet", loss=loss, family="acet")
SHORT = replace(METHOD, name="acet_short", loss=partial(loss, steps=8))
FULL = replace(METHOD, name="acet_full", loss=partial(loss, share=1.0))
