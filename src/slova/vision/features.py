"""Activations of the layers of a network, and their statistics over a set of images."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from threading import get_ident
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from slova._backend import Array
from slova._batches import evaluation_mode
from slova.ensemble import Ensemble

__all__ = ["FeatureStatistics", "find_layers", "last_layer_per_resolution", "record_activations"]

RIDGE = 1e-3  # of the mean variance, for directions in which the validation images hardly vary
RESAMPLING = (nn.AdaptiveAvgPool2d, nn.AdaptiveMaxPool2d, nn.AvgPool2d, nn.MaxPool2d, nn.Upsample)
PADDING = (nn.ConstantPad2d, nn.ReflectionPad2d, nn.ReplicationPad2d, nn.CircularPad2d)


class FeatureStatistics(NamedTuple):
    """Mean (C,) and whitening matrix (C, C) of the channels of one layer over the validation images.

    >>> statistics = FeatureStatistics.of(np.random.default_rng(0).normal(5, 2, (1000, 3)))
    >>> statistics.square(np.array([[5.0, 5, 5], [5, 5, 15]])).round(1)       # at the mean, and far from it
    array([0. , 8.1])
    """

    mean: Array
    whiten: Array

    @classmethod
    def of(cls, channels: Array) -> FeatureStatistics:
        """The statistics of channels (N, C)."""
        channels = np.asarray(channels, np.float64)
        mean = channels.mean(axis=0)
        covariance = (channels - mean).T @ (channels - mean) / len(channels)
        ridge = RIDGE * np.trace(covariance) / len(covariance) + 1e-12  # constant channels have no variance
        return cls(mean, np.linalg.inv(np.linalg.cholesky(covariance + ridge * np.eye(len(covariance)))).T)

    def square(self, channels: Array) -> Array:
        """The squared Mahalanobis distance (N,) of channels (N, C), divided by C."""
        return (((channels - self.mean) @ self.whiten) ** 2).mean(-1)


def find_layers(network: nn.Module, *inputs: Any, **named: Any) -> tuple[str, ...]:
    """The layers in which distances are measured: the blocks of a transformer at a third, at two thirds and at the end,
    otherwise the last layer of each resolution. Of a network without either, none.

    The blocks are the outermost modules of one class, side by side, whose outputs are tokens (N, T, C).
    """
    blocks = _blocks(network, inputs, named)
    if blocks:
        return tuple(dict.fromkeys(blocks[-(-len(blocks) * part // 3) - 1] for part in (1, 2, 3)))
    try:
        return last_layer_per_resolution(network, *inputs, **named)
    except ValueError:
        return ()


def find_member_layers(network: nn.Module, *inputs: Any, **named: Any) -> tuple[tuple[str, ...], int]:
    """The layers of each network of an ensemble in turn, and of how many networks distances are averaged, layer by
    layer; 1 for a network that is no ensemble, and where members have different numbers of layers."""
    if not isinstance(network, Ensemble):
        return find_layers(network, *inputs, **named), 1
    members = {member: name for name, member in reversed(list(network.members.named_children()))}  # each once
    found = [
        [f"members.{name}.{layer}" for layer in find_layers(member, *inputs, **named)]
        for member, name in reversed(members.items())
    ]
    alike = len({len(names) for names in found}) == 1
    return tuple(name for names in found for name in names), len(found) if alike else 1


def _blocks(network: nn.Module, inputs: tuple[Any, ...], named: Mapping[str, Any]) -> list[str]:
    rows = next((len(part) for part in (*inputs, *named.values()) if isinstance(part, Tensor)), None)
    groups: dict[tuple[Any, ...], list[str]] = {}

    def note(name: str, output: Any) -> None:
        tokens = _tensor(output)
        if tokens is not None and tokens.ndim == 3 and len(tokens) == rows and tokens.shape[1] > 1:
            group = groups.setdefault((name.rpartition(".")[0], type(modules[name])), [])
            group.extend([] if name in group else [name])

    modules = {name: module for name, module in network.named_modules() if name and next(module.children(), None)}
    with _hooks(modules, note), evaluation_mode(network):
        network(*inputs, **named)
    several = [group for group in groups.values() if len(group) > 1]
    return min(several, key=lambda group: (group[0].count("."), -len(group)), default=[])


def last_layer_per_resolution(network: nn.Module, *inputs: Any, **named: Any) -> tuple[str, ...]:
    """The name of the last module of each spatial resolution in a forward pass.

    Of the modules of a resolution, those count that are in the fewest blocks which change it: the first layers of a
    block that halves the resolution are its expansion of the stage before, and the end of that stage stands for it.
    Outputs of a single pixel do not count, nor do modules that only pool, enlarge or pad another layer. A module that
    is called several times has the resolution of its last call, which is what `record_activations` keeps.

    >>> network = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Conv2d(4, 8, 3, stride=2), nn.Flatten())
    >>> last_layer_per_resolution(network, torch.rand(2, 1, 28, 28))
    ('1', '2')
    """
    sizes: dict[str, tuple[int, ...]] = {}  # in the order of the last calls
    same: Any = None  # the last output that is another layer at another size

    def note(name: str, output: Any) -> None:
        nonlocal same
        same = output if isinstance(modules[name], RESAMPLING + PADDING) else same
        sizes.pop(name, None)
        if isinstance(output, Tensor) and output.ndim == 4 and output is not same and output.shape[-2:].numel() > 1:
            sizes[name] = tuple(output.shape[-2:])

    modules = {name: module for name, module in network.named_modules() if name}
    with _hooks(modules, note), evaluation_mode(network):
        network(*inputs, **named)
    if not sizes:
        raise ValueError("no layer of this network has outputs (N, C, H, W): name the layers to use")
    last: dict[tuple[int, ...], str] = {}
    for name, size in sizes.items():
        if size not in last or _changes(name, sizes) <= _changes(last[size], sizes):
            last[size] = name
    return tuple(last.values())


def _changes(name: str, sizes: Mapping[str, tuple[int, ...]]) -> int:
    """The number of modules around this one whose outputs have another resolution."""
    parts = name.split(".")
    around = (".".join(parts[:depth]) for depth in range(1, len(parts)))
    return sum(sizes.get(outer, sizes[name]) != sizes[name] for outer in around)


@contextmanager
def record_activations(network: nn.Module, layers: Sequence[str]) -> Iterator[dict[str, Tensor]]:
    """A dict that holds, after a forward pass, the channels (N, C) of these layers, averaged over all positions.

    >>> network = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU())
    >>> with record_activations(network, ["1"]) as activations:
    ...     _ = network(torch.rand(2, 1, 28, 28))
    >>> activations["1"].shape
    torch.Size([2, 4])
    """
    activations: dict[str, Tensor] = {}

    def note(name: str, output: Any) -> None:
        found = _tensor(output)
        if found is None:
            raise TypeError(f"layer {name} must return a tensor, got {type(output).__name__}: name another layer")
        places, exact = found.ndim - 2, torch.promote_types(found.dtype, torch.float32)
        if places > 0:
            found = found.mean(1, dtype=exact) if places == 1 else found.flatten(2).mean(-1, dtype=exact)
        activations[name] = found

    with _hooks({name: network.get_submodule(name) for name in layers}, note):
        yield activations
    if unused := [name for name in layers if name not in activations]:
        raise ValueError(f"the network does not use its layer {unused[0]}: name another layer")


def _tensor(output: Any) -> Tensor | None:
    """An output, or the first of several; None where it is something else."""
    first = output[0] if isinstance(output, tuple) and output else output
    return first if isinstance(first, Tensor) else None


@contextmanager
def _hooks(modules: Mapping[str, nn.Module], note: Callable[[str, Any], None]) -> Iterator[None]:
    """Call `note(name, output)` for each call of a module in this thread; other threads are ignored."""
    own = get_ident()

    def hook_for(name: str) -> Callable[[nn.Module, Any, Any], None]:
        return lambda module, inputs, output: note(name, output) if get_ident() == own else None

    hooks = [module.register_forward_hook(hook_for(name)) for name, module in modules.items()]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()
