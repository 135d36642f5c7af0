"""RotPred (Hendrycks et al. 2019): softmax with four more outputs that predict by how many quarter turns an image was
turned. As in the official code and in OpenOOD, OOD images are ranked by the divergence of the classes from uniform
minus the mean cross-entropy of the turns: four passes. Deviation: a temperature is fitted on validation images."""

from dataclasses import replace

from torch import Tensor, nn
from torch.nn import functional

from slova._backend import Array
from slova.heads import SOFTMAX
from slova_bench.calibrate import class_temperature
from slova_bench.method import Backbone
from slova_bench.methods import softmax
from slova_bench.stable import stable
from slova_bench.turns import TURNS, turn_losses, with_turns


@stable("rotpred_network")
def network(backbone: Backbone, classes: int) -> nn.Sequential:
    return backbone(classes + TURNS)


@stable("rotpred_loss")
def loss(network: nn.Module, images: Tensor, labels: Tensor, rows: int) -> Tensor:
    logits, losses = turn_losses(network, images)
    return functional.cross_entropy(logits, labels) + losses.mean()


@stable("rotpred_score")
def score(outputs: Array) -> Array:
    """Outputs (S, N, K + 1) to scores (N,); log K, the same for all images, is left out of the divergence."""
    return (-SOFTMAX(outputs[..., :-1]).log_probs.mean(axis=-1) - outputs[..., -1]).mean(axis=0)


METHOD = replace(
    softmax.METHOD, name="rotpred", network=network, loss=loss, adapt=with_turns, fit=class_temperature, score=score
)
