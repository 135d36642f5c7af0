"""RotPred (Hendrycks et al. 2019): softmax with four more outputs that predict by how many quarter turns an image was
turned. As in the official code and in OpenOOD, OOD images are ranked by the divergence of the classes from uniform
minus the mean cross-entropy of the turns: four passes. Deviation: a temperature is fitted on validation images."""

from dataclasses import replace

import torch
from torch import Tensor, nn
from torch.nn import functional

from slova._backend import Array
from slova.heads import SOFTMAX
from slova_bench.calibrate import class_temperature
from slova_bench.method import Backbone, Splits
from slova_bench.methods import softmax
from slova_bench.stable import stable

TURNS = 4


@stable("rotpred_network")
def network(backbone: Backbone, classes: int) -> nn.Sequential:
    return backbone(classes + TURNS)


def turn_losses(network: nn.Module, images: Tensor) -> tuple[Tensor, Tensor]:
    """Logits (N, K) of the images, and the cross-entropy (4, N) of their turns."""
    outputs = network(torch.cat([images.rot90(turn, (-2, -1)) for turn in range(TURNS)])).float()
    turns = torch.arange(TURNS * len(images), device=images.device) // len(images)
    losses = functional.cross_entropy(outputs[:, -TURNS:], turns, reduction="none")
    return outputs[: len(images), :-TURNS], losses.view(TURNS, -1)


@stable("rotpred_loss")
def loss(network: nn.Module, images: Tensor, labels: Tensor, rows: int) -> Tensor:
    logits, losses = turn_losses(network, images)
    return functional.cross_entropy(logits, labels) + losses.mean()


class WithTurns(nn.Sequential):
    """A network whose outputs (N, K + 1) are its logits and the mean cross-entropy of the four turns."""

    def forward(self, images: Tensor) -> Tensor:
        logits, losses = turn_losses(self[0], images)
        return torch.cat([logits, losses.mean(0)[:, None]], dim=1)


@stable("with_turns")
def with_turns(network: nn.Sequential, splits: Splits) -> nn.Sequential:
    return nn.Sequential(WithTurns(network))


@stable("rotpred_score")
def score(outputs: Array) -> Array:
    """Outputs (S, N, K + 1) to scores (N,); log K, the same for all images, is left out of the divergence."""
    return (-SOFTMAX(outputs[..., :-1]).log_probs.mean(axis=-1) - outputs[..., -1]).mean(axis=0)


METHOD = replace(
    softmax.METHOD, name="rotpred", network=network, loss=loss, adapt=with_turns, fit=class_temperature, score=score
)
