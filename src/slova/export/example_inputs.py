"""Rows to trace a network with and to compare answers on: given ones, or random ones of the right shape."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn

from slova._batches import Batch, as_tensors, batches, count
from slova.export.file_metadata import ExportError

__all__ = ["AT_A_TIME", "ROWS", "given_rows", "random_logits", "random_rows"]

ROWS = 64  # of random ones
AT_A_TIME = 256  # of given ones, all of which are compared


def given_rows(inputs: Any, network: nn.Module, like: Batch | None, device: torch.device) -> Iterator[Batch]:
    """The batches of what `Classifier.predict` takes; the first has at least two rows, as one would be taken for a
    constant."""
    stream = batches(as_tensors(inputs, network), AT_A_TIME, device, labelled=False, inputs=count(like))
    for number, ((positional, named), _) in enumerate(stream):
        yield (positional, named) if number else _two_rows(positional, named)


def random_rows(network: nn.Module, like: Batch | None, device: torch.device) -> Batch:
    """Rows drawn like the (empty) ones the classifier was fitted on, or for the Linear layer that a network begins
    with: numbers from a normal distribution, and 0 or 1 for whole numbers, which every vocabulary and mask has."""
    generator = torch.Generator().manual_seed(0)
    positional, named = _begins_with(network) if like is None else like
    drawn = tuple(_drawn(value, generator).to(device) for value in positional)
    return drawn, {name: _drawn(value, generator).to(device) for name, value in named.items()}


def random_logits(classes: int) -> Tensor:
    """Rows of every kind: one class fits, several, none. Every other row is as deep as those of a trained one-vs-all
    network, where a class in K is there; the others are ever surer, up to logits of 1e4."""
    generator = torch.Generator().manual_seed(0)
    logits = 1.5 * torch.randn(ROWS, classes, generator=generator) - 3 - math.log(classes)
    logits[torch.arange(ROWS), torch.arange(ROWS) % classes] += (8 + math.log(classes)) * torch.rand(
        ROWS, generator=generator
    )
    logits[::8, 0] += 8 + math.log(classes)
    logits[1::2] *= torch.logspace(0, 3.3, len(logits[1::2]))[:, None]
    return logits


def _begins_with(network: nn.Module) -> Batch:
    layers = [layer for layer in network.modules() if next(layer.parameters(recurse=False), None) is not None]
    if not (layers and isinstance(layers[0], nn.Linear)):
        raise ExportError(
            "what the network takes in is not known: give a few rows, as for predict, "
            'such as classifier.export("model.onnx", images)'
        )
    return (torch.empty(0, layers[0].in_features, dtype=layers[0].weight.dtype),), {}


def _drawn(like: Tensor, generator: torch.Generator) -> Tensor:
    shape = (ROWS, *like.shape[1:])
    if like.is_floating_point():
        return torch.randn(shape, generator=generator).to(like.dtype)
    return torch.randint(0, 2, shape, generator=generator).to(like.dtype)


def _two_rows(positional: tuple[Any, ...], named: dict[str, Any]) -> Batch:
    return tuple(_two(value) for value in positional), {name: _two(value) for name, value in named.items()}


def _two(value: Tensor) -> Tensor:
    return torch.cat([value, value]) if len(value) == 1 else value
