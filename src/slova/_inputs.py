"""Whether the inputs of a batch are those that a network takes, and like those of the fit."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from torch import Tensor, nn

if TYPE_CHECKING:
    from slova._batches import Batch


def check_keys(network: nn.Module, named: Mapping[str, Any]) -> None:
    """The keys of a batch are arguments of the network."""
    parameters = inspect.signature(network.forward).parameters
    unknown = [name for name in named if name not in parameters]
    if unknown and not any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()):
        named_ones = {name: each for name, each in parameters.items() if each.kind is not each.VAR_POSITIONAL}
        lacking = [name for name, each in named_ones.items() if each.default is each.empty and name not in named]
        remedy = "rename these keys of the batches" if lacking else "leave these keys out of the batches"
        remedy = f"rename {unknown[0]} to {lacking[0]}" if len(unknown) == len(lacking) == 1 else remedy
        raise ValueError(
            f"{type(network).__name__} takes {', '.join(named_ones)}, and not {', '.join(unknown)}: {remedy}"
        )


def check_like(batch: Batch, like: Batch) -> None:
    """There are as many inputs as in the fit, of the same names where both have names, and of as many axes."""
    by_name = batch[1] and like[1]
    if len(batch[0]) + len(batch[1]) != len(like[0]) + len(like[1]) or (by_name and batch[1].keys() != like[1].keys()):
        given, expected = (", ".join(part[1]) or f"{len(part[0])} without names" for part in (batch, like))
        raise ValueError(f"the inputs are {given}; expected {expected}, as in the fit")
    missing = [len(other) - len(one) for one, other in _shapes(batch, like)]
    if any(missing):
        remedy = "; a single row must be a batch as well, such as images[:1] or image[None]" if 1 in missing else ""
        raise ValueError(f"got {different_shapes(batch, like)}, as in the fit{remedy}")


def different_shapes(batch: Batch, like: Batch) -> str:
    """The shapes of the inputs that differ from those in the fit by more than the number of rows."""
    different = [pair for pair in _shapes(batch, like) if pair[0][1:] != pair[1][1:] or len(pair[0]) != len(pair[1])]
    said = (f"a batch of shape {one} instead of ({', '.join(['N', *map(str, other[1:])])})" for one, other in different)
    return " and ".join(said)


def _shapes(batch: Batch, like: Batch) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """The shape of each input, and that in the fit."""
    known = [like[1][name] for name in batch[1]] if batch[1] and like[1] else [*like[0], *like[1].values()]
    pairs = zip([*batch[0], *batch[1].values()], known, strict=True)
    return [(tuple(part.shape), tuple(other.shape)) for part, other in pairs if isinstance(part, Tensor)]
