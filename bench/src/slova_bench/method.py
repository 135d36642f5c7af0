"""A method of the comparison: a value whose fields are functions. The defaults are the softmax baseline.

A method lists only its differences: `replace(softmax.METHOD, name="ensemble", members=5)`. The data set provides the
backbone and the recipes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from torch import Tensor, nn
from torch.nn import functional

from slova._backend import Array
from slova.calibration import Calibrator
from slova.heads import SOFTMAX, Readout
from slova_bench.data import Split
from slova_bench.networks import Backbone
from slova_bench.stable import stable
from slova_bench.train import Loss, Recipe

__all__ = ["Backbone", "CalibrationRows", "Fitted", "Method", "Outputs", "Score", "Splits", "plain", "softmax_loss"]


class Outputs(NamedTuple):
    """Outputs of networks on a set: logits (S, N, K) of members and passes, and features (N, D) of the first pass of
    the first member."""

    logits: Array
    features: Array


class CalibrationRows(NamedTuple):
    """Validation images as a fit sees them: outputs (S, N, C) of the networks, labels (N,), weights (N,) in the class
    part and in the model of NONE, the numbers (N,) of the images that these are versions of, and the number of classes
    K. The first K columns are logits, further ones distances."""

    outputs: Array
    labels: Array
    weight: Array
    none_weight: Array
    groups: Array
    classes: int


Fitted = Callable[[Array], Readout]  # outputs (S, N, C) of a set to its calibrated readout
Score = Callable[[Array], Array]  # outputs (S, N, C) of a set to a score (N,), larger for in-distribution images


class Splits(Protocol):
    """The training and validation split of a network, each loaded on first access."""

    @property
    def training(self) -> Split: ...
    @property
    def validation(self) -> Split: ...


Detector = Callable[[Outputs], Array]  # a score (N,), larger for in-distribution images


@stable("plain")
def plain(backbone: Backbone, classes: int) -> nn.Sequential:
    """The unchanged backbone."""
    return backbone(classes)


@stable("softmax_loss")
def softmax_loss(network: nn.Module, images: Tensor, labels: Tensor, rows: int) -> Tensor:
    """Softmax cross-entropy."""
    return functional.cross_entropy(network(images).float(), labels)


@dataclass(frozen=True, kw_only=True)
class Method:
    """One way to obtain a confidence. The fields up to `recipe` determine the weights; methods that agree on them share
    networks."""

    name: str
    preset: str = ""  # the preset of its recipe, a column of the rows; empty for the fair one
    network: Callable[[Backbone, int], nn.Sequential] = plain
    loss: Loss = softmax_loss
    family: str = "softmax"  # selects learning rate and weight decay, tuned on validation data
    recipe: Recipe | None = None  # replaces the recipe of the family
    members: int = 1  # networks in the ensemble
    samples: int = 1  # passes through a stochastic network
    adapt: Callable[[nn.Sequential, Splits], nn.Sequential] | None = None  # after training
    head: Callable[[Array], Readout] = SOFTMAX
    calibrate: Callable[[Array, Array], Calibrator] | None = None
    noise: float = 0.0  # share of uniform noise images, labelled NONE, in the calibration set
    calibrate_on: tuple[str, ...] = ("clean",)  # validation images as they are, "degraded", and "outliers"
    fit: Callable[[CalibrationRows], Fitted] | None = None  # of the whole readout, in place of head and calibrate
    # what ranks OOD images: "confidence", "none" for P(none), or a function of outputs (S, N, C), as a detector
    score: str | Callable[[Array], Array] = "confidence"
    detect: Callable[[Outputs, Array], Detector] | None = None  # an OOD score fitted to training outputs and labels
    rank: Callable[[CalibrationRows], Score] | None = None  # an OOD score of outputs, fitted to calibration rows
