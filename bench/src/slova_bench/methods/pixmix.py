"""PixMix-like (Hendrycks et al. 2022): softmax trained on images mixed in up to four rounds, with beta = 3, with
augmented versions of themselves and with structured pictures; also SLOVA's image recipe with a quarter of such images,
and its rival on equal terms, softmax with the same quarter, the same degradations and no outliers. Deviations: the
pictures are fractals drawn by formula, since the published set is not at hand, and a temperature is fitted on
validation images. Optimiser, rate and epochs are those of the comparison."""

from dataclasses import replace

import torch
from torch import Tensor, nn
from torch.nn import functional

from slova.losses import ova_loss
from slova.vision import augment
from slova_bench.methods import slova_image, temperature
from slova_bench.published_mixtures import mixed
from slova_bench.stable import stable


@stable("pixmix_loss")
def loss(network: nn.Module, images: Tensor, labels: Tensor, rows: int) -> Tensor:
    return functional.cross_entropy(network(mixed(images)).float(), labels)


@stable("image_recipe_with_pixmix")
def image_loss(network: nn.Module, images: Tensor, labels: Tensor, rows: int) -> Tensor:
    """A quarter is mixed; half of the batch is degraded, and half as many outliers are added, as in the recipe."""
    images, labels = _quarter_mixed(images, labels, outliers=2 / 3)
    return ova_loss(network(images).float(), labels, cross_entropy=1.5)


@stable("softmax_augmented_with_pixmix")
def softmax_loss(network: nn.Module, images: Tensor, labels: Tensor, rows: int) -> Tensor:
    images, labels = _quarter_mixed(images, labels, outliers=0.0)
    return functional.cross_entropy(network(images).float(), labels)


def _quarter_mixed(images: Tensor, labels: Tensor, *, outliers: float) -> tuple[Tensor, Tensor]:
    count = len(images) // 4
    others, known = augment(images[count:], labels[count:], degraded=2 / 3, mixed=0.0, outliers=outliers)
    return torch.cat([mixed(images[:count]), others]), torch.cat([labels[:count], known])


METHOD = replace(temperature.METHOD, name="pixmix", loss=loss)
DEGRADED = replace(temperature.DEGRADED, name="pixmix_degraded", loss=loss)
IMAGE = replace(slova_image.METHOD, name="slova_image_pixmix", loss=image_loss)
SOFTMAX = replace(METHOD, name="softmax_augmented_pixmix", loss=softmax_loss)
SOFTMAX_DEGRADED = replace(DEGRADED, name="softmax_augmented_pixmix_degraded", loss=softmax_loss)
