"""CEDA (Hein et al. 2019): softmax trained for low confidence on as many noise images as clean ones."""

from dataclasses import replace

import torch
from torch import Tensor, nn
from torch.nn import functional

from slova.vision.outliers import low_pass
from slova_bench.methods import softmax
from slova_bench.stable import stable


def confidence(logits: Tensor) -> Tensor:
    """The logarithm of the largest probability per row."""
    return functional.log_softmax(logits.float(), dim=-1).max(dim=-1).values


def together(network: nn.Module, images: Tensor, labels: Tensor, noise: Tensor) -> Tensor:
    """Cross-entropy of the images and confidence on the noise, in one batch."""
    seen, unseen = network(torch.cat([images, noise])).float().split([len(images), len(noise)])
    return (functional.cross_entropy(seen, labels) + confidence(unseen).mean()) / 2


@stable("ceda_loss")
def loss(network: nn.Module, images: Tensor, labels: Tensor, rows: int) -> Tensor:
    return together(network, images, labels, low_pass(images))


METHOD = replace(softmax.METHOD, name="ceda", loss=loss, family="ceda")
