"""What the layers of a network give while inputs pass it.

with record_activations(network, ["layer1", "layer2"]) as seen:
    network(images)
seen["layer1"]                                the channels (N, C) of that layer, means over all places
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from threading import get_ident
from typing import Any

from torch import Tensor, nn

from slova._batches import evaluation_mode

__all__ = ["last_layer_per_resolution", "record_activations"]

POOLS = (nn.AdaptiveAvgPool2d, nn.AdaptiveMaxPool2d, nn.AvgPool2d, nn.MaxPool2d)


def last_layer_per_resolution(network: nn.Module, *inputs: Any, **named: Any) -> tuple[str, ...]:
    """The last module of each resolution that images pass in the network, by name; a single pixel is none, and what
    only pools another layer is no layer. A module that is passed several times has the resolution of the last, which
    is what `DistanceAware` sees of it."""
    sizes: dict[str, tuple[int, ...]] = {}  # in the order of the last pass
    pooled: Any = None

    def note(name: str, output: Any) -> None:
        nonlocal pooled
        pooled = output if isinstance(modules[name], POOLS) else pooled
        sizes.pop(name, None)
        if isinstance(output, Tensor) and output.ndim == 4 and output is not pooled and output.shape[-2:].numel() > 1:
            sizes[name] = tuple(output.shape[-2:])

    modules = {name: module for name, module in network.named_modules() if name}
    with _hooked(modules, note), evaluation_mode(network):
        network(*inputs, **named)
    if not sizes:
        raise ValueError("no layer of this network gives (N, C, H, W): name the layers to look at")
    return tuple({size: name for name, size in sizes.items()}.values())


@contextmanager
def record_activations(network: nn.Module, layers: Sequence[str]) -> Iterator[dict[str, Tensor]]:
    """The channels (N, C) of these layers, means over all places, once the network has been passed."""
    seen: dict[str, Tensor] = {}

    def note(name: str, output: Any) -> None:
        if not isinstance(output, Tensor):
            raise TypeError(f"layer {name} gives no tensor but a {type(output).__name__}: name another layer")
        seen[name] = output if output.ndim < 3 else output.mean(1) if output.ndim == 3 else output.flatten(2).mean(-1)

    with _hooked({name: network.get_submodule(name) for name in layers}, note):
        yield seen
    if missed := [name for name in layers if name not in seen]:
        raise ValueError(f"the network does not pass its layer {missed[0]}: name another layer")


@contextmanager
def _hooked(modules: Mapping[str, nn.Module], note: Callable[[str, Any], None]) -> Iterator[None]:
    """Each module's name and output, whenever it is passed in this thread; others may pass it at the same time."""
    own = get_ident()

    def told(name: str) -> Callable[[nn.Module, Any, Any], None]:
        return lambda module, inputs, output: note(name, output) if get_ident() == own else None

    hooks = [module.register_forward_hook(told(name)) for name, module in modules.items()]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()
