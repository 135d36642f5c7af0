"""SLOVA for images: one-vs-all with cross-entropy, trained with degraded images and outliers labelled NONE
(`slova.vision.augment`), and calibrated by the default calibrator with distances, on clean and degraded validation
images and outliers. One pass; also with flips or quarter turns averaged at test time, with the same weights."""

from dataclasses import replace
from functools import partial

from torch import Tensor, nn

from slova.losses import ova_loss
from slova.vision import augment
from slova_bench.calibrate import posterior
from slova_bench.distances import with_distances
from slova_bench.methods import ova_fit
from slova_bench.stable import stable


@stable("image_recipe_with_cross_entropy")
def loss(network: nn.Module, images: Tensor, labels: Tensor, rows: int) -> Tensor:
    images, labels = augment(images, labels, degraded=0.5, mixed=0.0)
    return ova_loss(network(images).float(), labels, cross_entropy=1.5)


@stable("image_recipe_loss")
def loss_without_cross_entropy(network: nn.Module, images: Tensor, labels: Tensor, rows: int) -> Tensor:
    images, labels = augment(images, labels, degraded=0.5, mixed=0.0)
    return ova_loss(network(images), labels)


METHOD = replace(ova_fit.METHOD, name="slova_image", loss=loss)
WITHOUT_CROSS_ENTROPY = replace(METHOD, name="slova_image_ova", loss=loss_without_cross_entropy)
NO_DISTANCES = replace(METHOD, name="slova_image_no_distances", fit=partial(posterior, head="slova", distances=False))
FLIP = replace(METHOD, name="slova_image_flip", adapt=partial(with_distances, views="flip"))
TURNS = replace(METHOD, name="slova_image_turns", adapt=partial(with_distances, views="turns"))
ENSEMBLE = replace(METHOD, name="slova_image_ensemble", members=5)
