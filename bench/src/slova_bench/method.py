"""What a method of the comparison is: a value whose fields are functions, and whose defaults are the softmax baseline.

A method says only how it differs: `replace(softmax.METHOD, name="ensemble", members=5)`. It does not know the data set;
the set brings its backbone and its recipes.
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
from slova_bench.stable import stable
from slova_bench.train import Loss, Recipe

__all__ = ["Backbone", "Method", "Outputs", "Splits", "plain", "softmax_loss"]

Backbone = Callable[..., nn.Sequential]  # (classes, *, dropout=0.0, bayesian=False) -> network


class Outputs(NamedTuple):
    """What networks say of a set: logits (S, N, K) of members and passes, and the features (N, D) of the first member's
    first."""

    logits: Array
    features: Array


class Splits(Protocol):
    """What a network was trained on and what is kept to validate it; each is loaded when it is looked at."""

    @property
    def training(self) -> Split: ...
    @property
    def validation(self) -> Split: ...


Detector = Callable[[Outputs], Array]  # to one number a row (N,), larger for what looks like the training data


@stable("plain")
def plain(backbone: Backbone, classes: int) -> nn.Sequential:
    """The backbone as it is."""
    return backbone(classes)


@stable("softmax_loss")
def softmax_loss(network: nn.Module, images: Tensor, labels: Tensor, rows: int) -> Tensor:
    """Cross-entropy of softmax."""
    return functional.cross_entropy(network(images).float(), labels)


@dataclass(frozen=True, kw_only=True)
class Method:
    """One way to a confidence. All up to `recipe` decides the weights, and methods that agree on it share them."""

    name: str
    preset: str = ""  # whose recipe it has, in a column of the rows; empty for the fair one
    network: Callable[[Backbone, int], nn.Sequential] = plain
    loss: Loss = softmax_loss
    family: str = "softmax"  # whose learning rate and weight decay it takes, as found on validation data
    recipe: Recipe | None = None  # hyper-parameters of its own, in place of the family's
    members: int = 1  # networks in the ensemble
    samples: int = 1  # passes through a stochastic network
    adapt: Callable[[nn.Sequential, Splits], nn.Sequential] | None = None  # after training, by images of one of them
    head: Callable[[Array], Readout] = SOFTMAX
    calibrate: Callable[[Array, Array], Calibrator] | None = None
    noise: float = 0.0  # uniform noise images labelled NONE, as a share of the calibration set
    detect: Callable[[Outputs, Array], Detector] | None = None  # an OOD score fitted to training outputs and labels
