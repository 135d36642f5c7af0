"""LogitNorm (Wei et al. 2022): cross-entropy of logits divided by their norm and by tau = 0.04, the published value for
CIFAR-10, which OpenOOD uses for CIFAR-100 too. As published, OOD images are ranked by the maximum softmax probability
of the logits as they are. Deviation: the temperature of the other methods is fitted afterwards."""

from dataclasses import replace

import numpy as np
from torch import Tensor, nn
from torch.nn import functional

from slova._backend import Array
from slova.heads import SOFTMAX
from slova_bench.methods import temperature
from slova_bench.pipeline import mean_readout
from slova_bench.stable import stable

TAU = 0.04


@stable("logitnorm_loss")
def loss(network: nn.Module, images: Tensor, labels: Tensor, rows: int) -> Tensor:
    logits = network(images).float()
    norm = logits.norm(dim=-1, keepdim=True) + 1e-7  # logits of zero have no direction
    return functional.cross_entropy(logits / (TAU * norm), labels)


@stable("uncalibrated_confidence")
def confidence(outputs: Array) -> Array:
    """The maximum softmax probability without a temperature."""
    return np.exp(mean_readout(SOFTMAX, outputs).log_probs).max(axis=-1)


METHOD = replace(temperature.METHOD, name="logitnorm", loss=loss, score=confidence)
