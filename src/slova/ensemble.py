"""Ensembles: the mean of the outputs of several networks.

>>> import slova
>>> ensemble = Ensemble([network, network])                # one-vs-all: the mean of the logits
>>> slova.Classifier.fit(ensemble, val_images, val_labels)
Classifier(3 classes, one-vs-all, posterior calibration on 1,000 rows, ECE 0.211 -> 0.01..., NONE evidence)

On images the fit is distance-aware: the distances of an image are the means over the members. Members that state by
`returns_log_probs = True` that their outputs are log-probabilities have a mean that is underconfident: it needs
`calibration="temperature"`.
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
    """A network whose output is the mean of the outputs of its members, logits or log-probabilities (N, K).

    The mean of log-probabilities is normalised, if all members state by `returns_log_probs` that they are such. Half
    precision is converted to float32.
    """

    def __init__(self, members: Iterable[nn.Module]) -> None:
        super().__init__()
        self.members = nn.ModuleList(_check_members(members))

    @property
    def slova_head(self) -> str:
        """What all members state by an attribute of this name (`slova.prepare` sets it), otherwise "auto"."""
        stated = {getattr(member, "slova_head", "auto") for member in self.members}
        return str(stated.pop()) if len(stated) == 1 else "auto"

    def forward(self, *inputs: Any, **named: Any) -> Tensor:
        logits = [floating(logits_of(member(*inputs, **named)), "logits")[0] for member in self.members]
        classes = [output.shape[-1] for output in logits]
        if len(set(classes)) > 1:
            raise ValueError(f"members must have the same number of classes, got {', '.join(map(str, classes))}")
        mean = torch.stack(logits).mean(0)
        return mean.log_softmax(-1) if all(getattr(one, "returns_log_probs", False) for one in self.members) else mean


def _check_members(members: Iterable[nn.Module]) -> list[nn.Module]:
    if isinstance(members, nn.Module) and not isinstance(members, nn.ModuleList):  # may be iterable, over its layers
        raise TypeError(f"members must be a list of networks, got one {type(members).__name__}")
    found = list(members)
    if not found:
        raise ValueError("an ensemble must have at least one network")
    wrong = [type(member).__name__ for member in found if not isinstance(member, nn.Module)]
    if wrong:
        raise TypeError(f"the members of an ensemble must be torch.nn.Module, got {', '.join(wrong)}")
    return found
