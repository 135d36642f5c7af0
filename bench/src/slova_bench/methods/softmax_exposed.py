"""Outlier exposure (Hendrycks et al. 2019) with the outliers of the image recipe: softmax trained with its degraded
images, with its mixed ones or without, and a uniform target on its outliers, weighted by half; a temperature on clean
and degraded images."""

from dataclasses import replace
from functools import partial

from torch import Tensor, nn, where

from slova.vision import augment
from slova_bench.methods import softmax_augmented
from slova_bench.stable import stable

WEIGHT = 0.5  # of the outliers


@stable("exposed_loss")
def loss(
    network: nn.Module, images: Tensor, labels: Tensor, rows: int, degraded: float = 0.5, mixed: float = 0.0
) -> Tensor:
    images, labels = augment(images, labels, degraded=degraded, mixed=mixed)
    log_probs, known = network(images).float().log_softmax(-1), labels >= 0
    truth = -log_probs.gather(1, labels.clamp_min(0)[:, None])[:, 0]
    shares = where(known, truth / known.sum(), -WEIGHT * log_probs.mean(-1) / (~known).sum().clamp_min(1))
    return shares.sum()


METHOD = replace(softmax_augmented.DEGRADED, name="softmax_exposed", loss=loss)
MIXED = replace(METHOD, name="softmax_mixed_exposed", loss=partial(loss, degraded=0.25, mixed=0.5))
