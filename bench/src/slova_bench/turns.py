"""Networks that also predict by how many quarter turns an image was turned, in four more outputs after the classes."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from slova_bench.method import Splits
from slova_bench.stable import stable

__all__ = ["TURNS", "WithTurns", "turn_losses", "with_turns"]

TURNS = 4


def turn_losses(network: nn.Module, images: Tensor) -> tuple[Tensor, Tensor]:
    """Logits (N, K) of the images, and the cross-entropy (4, N) of their turns."""
    outputs = network(torch.cat([images.rot90(turn, (-2, -1)) for turn in range(TURNS)])).float()
    turns = torch.arange(TURNS * len(images), device=images.device) // len(images)
    losses = functional.cross_entropy(outputs[:, -TURNS:], turns, reduction="none")
    return outputs[: len(images), :-TURNS], losses.view(TURNS, -1)


class WithTurns(nn.Module):
    """A network whose outputs (N, K + 1) are its logits and the mean cross-entropy of the four turns."""

    def __init__(self, network: nn.Sequential) -> None:
        super().__init__()
        self.network = network

    def forward(self, images: Tensor) -> Tensor:
        logits, losses = turn_losses(self.network, images)
        return torch.cat([logits, losses.mean(0)[:, None]], dim=1)


@stable("with_turns")
def with_turns(network: nn.Sequential, splits: Splits) -> nn.Sequential:
    """The network with the cross-entropy of the turns beside its logits: four passes."""
    return nn.Sequential(WithTurns(network))
