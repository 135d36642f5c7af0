"""Softmax with NONE as a class of its own (Zhang and LeCun 2017), trained with the degraded images and the outliers of
the image recipe, with its mixed images or without, with temperatures fitted on clean and degraded validation images and
outliers. Ranked by the probability of that class."""

from dataclasses import replace
from functools import partial

import numpy as np
from torch import Tensor, nn, where
from torch.nn import functional

from slova._backend import Array
from slova.calibration import TemperatureScaling
from slova.heads import SOFTMAX, Readout
from slova.vision import augment
from slova_bench.method import Backbone, CalibrationRows, Fitted
from slova_bench.methods import softmax
from slova_bench.pipeline import mean_readout
from slova_bench.stable import stable


@stable("none_class_network")
def network(backbone: Backbone, classes: int) -> nn.Sequential:
    return backbone(classes + 1)


@stable("none_class_loss")
def loss(
    network: nn.Module, images: Tensor, labels: Tensor, rows: int, degraded: float = 0.5, mixed: float = 0.0
) -> Tensor:
    images, labels = augment(images, labels, degraded=degraded, mixed=mixed)
    logits = network(images).float()
    return functional.cross_entropy(logits, where(labels < 0, logits.shape[1] - 1, labels))


@stable("none_class_temperatures")
def fit(rows: CalibrationRows) -> Fitted:
    """A temperature for the K classes among themselves, and one for all K + 1."""
    log_probs, known = mean_readout(SOFTMAX, rows.outputs).log_probs, rows.labels >= 0
    labels = np.where(known, rows.labels, rows.classes)
    whole = TemperatureScaling.fit(log_probs, labels, weight=rows.none_weight)
    inside = SOFTMAX(log_probs[known, :-1]).log_probs
    classes = TemperatureScaling.fit(inside, labels[known], weight=rows.weight[known])

    def readout(outputs: Array) -> Readout:
        log_probs = mean_readout(SOFTMAX, outputs).log_probs
        return Readout(classes(SOFTMAX(log_probs[:, :-1]).log_probs), whole(log_probs)[:, -1])

    return readout


ROWS = ("clean", "degraded", "outliers")
METHOD = replace(
    softmax.METHOD, name="softmax_none_class", network=network, loss=loss, fit=fit, calibrate_on=ROWS, score="none"
)
MIXED = replace(METHOD, name="softmax_mixed_none_class", loss=partial(loss, degraded=0.25, mixed=0.5))
