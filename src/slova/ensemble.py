"""Several networks that answer as one.

    network = Ensemble(networks)                                          one-vs-all: their mean logits, read out as one
    classifier = slova.Classifier.fit(network, validation)

    network = Ensemble(DistanceAware.fit(one, validation) for one in networks)                  each calibrated by distance
    classifier = slova.Classifier.fit(network, validation, head=slova.read_softmax, calibrate=TemperatureScaling.fit)

The mean of log-probabilities is less sure than its members, hence the temperature.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor, nn

from slova._backend import floating
from slova._batches import logits_of

__all__ = ["Ensemble"]


class Ensemble(nn.Module):
    """The mean of what its members say of the same inputs, logits or log-probabilities (N, K), half precision raised to
    float32."""

    def __init__(self, members: Iterable[nn.Module]) -> None:
        super().__init__()
        self.members = nn.ModuleList(_checked(members))

    def forward(self, *inputs: Any, **named: Any) -> Tensor:
        said = [floating(logits_of(member(*inputs, **named)), "logits")[0] for member in self.members]
        classes = [logits.shape[-1] for logits in said]
        if len(set(classes)) > 1:
            raise ValueError(f"the members of an ensemble want the same classes, got {', '.join(map(str, classes))}")
        return torch.stack(said).mean(0)


def _checked(members: Iterable[nn.Module]) -> list[nn.Module]:
    is_network = isinstance(members, nn.Module) and not isinstance(members, nn.ModuleList)
    if is_network:  # which may be iterable, over its layers
        raise TypeError(f"an ensemble wants a list of networks, got one {type(members).__name__}")
    found = list(members)
    if not found:
        raise ValueError("an ensemble wants at least one network")
    wrong = [type(member).__name__ for member in found if not isinstance(member, nn.Module)]
    if wrong:
        raise TypeError(f"the members of an ensemble want to be of torch.nn.Module, got {', '.join(wrong)}")
    return found
