"""Example inputs to trace a network with and to compare predictions on: given rows, or random ones."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn

from slova._batches import Batch, batches, count
from slova._inputs import as_tensors
from slova.export.file_metadata import ExportError

__all__ = ["BATCH", "ROWS", "given_rows", "random_rows"]

ROWS = 64  # random rows
BATCH = 256  # given rows per batch; all of them are compared


def given_rows(inputs: Any, network: nn.Module, like: Batch | None, device: torch.device) -> Iterator[Batch]:
    """Batches of any inputs of `Classifier.predict`. The first has at least two rows, as torch.export would treat a
    size of one as a constant."""
    stream = batches(as_tensors(inputs, network), BATCH, device, labelled=False, inputs=count(like))
    for number, ((positional, named), _) in enumerate(stream):
        yield (positional, named) if number else _two_rows(positional, named)


def random_rows(network: nn.Module, like: Batch | None, device: torch.device) -> Batch:
    """Random rows of the shape and type of the inputs of the fit, or of the first layer if it is Linear: normal floats,
    and integers 0 or 1, which are in every vocabulary and mask."""
    generator = torch.Generator().manual_seed(0)
    positional, named = _inputs_of_first_layer(network) if like is None else like
    drawn = tuple(_drawn(value, generator).to(device) for value in positional)
    return drawn, {name: _drawn(value, generator).to(device) for name, value in named.items()}


def _inputs_of_first_layer(network: nn.Module) -> Batch:
    layers = [layer for layer in network.modules() if next(layer.parameters(recurse=False), None) is not None]
    if not (layers and isinstance(layers[0], nn.Linear)):
        raise ExportError(
            "the inputs of the network are not known: pass a few rows, as for predict, "
            'such as classifier.export("model.onnx", images)'
        )
    return (torch.empty(0, layers[0].in_features, dtype=layers[0].weight.dtype),), {}


def _drawn(like: Tensor, generator: torch.Generator) -> Tensor:
    shape = (ROWS, *like.shape[1:])
    if like.is_floating_point():
        drawn = torch.randn(shape, generator=generator)
        if like.ndim == 4:  # images, from plain greys to noise, so that some are near to those of the fit
            strength = torch.linspace(0, 1, ROWS).view(-1, 1, 1, 1)
            drawn = strength * drawn + torch.rand(ROWS, 1, 1, 1, generator=generator)
        return drawn.to(like.dtype)
    return torch.randint(0, 2, shape, generator=generator).to(like.dtype)


def _two_rows(positional: tuple[Any, ...], named: dict[str, Any]) -> Batch:
    return tuple(_two(value) for value in positional), {name: _two(value) for name, value in named.items()}


def _two(value: Tensor) -> Tensor:
    return torch.cat([value, value]) if len(value) == 1 else value
