"""SLOVA trained with NONE: a third of each batch is synthetic outliers, labelled NONE, made from its own images.
Calibrated on validation images without noise."""

from dataclasses import replace

from torch import Tensor, nn

from slova.losses import ova_loss
from slova.vision.outliers import add_outliers
from slova_bench.methods import slova
from slova_bench.stable import stable


@stable("slova_none_loss")
def loss(network: nn.Module, images: Tensor, labels: Tensor, rows: int) -> Tensor:
    images, labels = add_outliers(images, labels)
    return ova_loss(network(images), labels)


METHOD = replace(slova.CLEAN, name="slova_none", loss=loss)
RAW = replace(METHOD, name="slova_none_raw", calibrate=None)
