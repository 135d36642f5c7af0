"""What a classifier takes from its network for a batch of inputs: logits, the mean over views, and distances.

Logits and distances come from one pass; each further view is one pass more. Views are horizontal flips ("flip") or
quarter turns ("turns") of the images. Distances are those of the images themselves.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from slova._batches import Batch, can_be_read
from slova._warnings import CalibrationWarning, warnings_at_caller
from slova.vision.features import FeatureStatistics, record_activations

__all__ = [
    "VIEWS",
    "Passes",
    "check_layers",
    "check_views",
    "distances_from",
    "find_images",
    "mean_over_members",
    "register_statistics",
    "replace_input",
    "run_passes",
]

View = Callable[[Tensor], Tensor]
VIEWS: dict[str, tuple[View, ...]] = {
    "flip": (lambda images: images.flip(-1),),
    "turns": tuple(lambda images, turn=turn: images.rot90(turn, (-2, -1)) for turn in (1, 2, 3)),  # type: ignore[misc]
}
FAR = 0.75  # widths of the range of the fit by which images may leave it: [-1, 1] after [0, 1] is too far


class Passes(nn.Module):
    """The passes of a network: `statistics` maps the names of layers to those of their channels, in the order of the
    distances; `views` is None, "flip" or "turns". The layers are those of `members` networks in turn, over which
    distances are averaged. `value_range` are the least and the largest value that images of the fit could have, if
    known. The buffers follow the device and stay in float32."""

    def __init__(
        self,
        statistics: Mapping[str, FeatureStatistics] | None = None,
        *,
        views: str | None = None,
        members: int = 1,
        value_range: tuple[float, float] | None = None,
    ) -> None:
        super().__init__()
        check_views(views)
        self.layers, self.views, self.members = tuple(statistics or ()), views, members
        self.value_range, self.has_warned = value_range, False
        if members < 1 or len(self.layers) % members:
            raise ValueError(f"{len(self.layers)} layers cannot be those of {members} members")
        register_statistics(self, (statistics or {}).values())

    @property
    def distances(self) -> int:
        """The number of distances per input."""
        return len(self.layers) // self.members

    def forward(self, network: nn.Module, batch: Batch, run: Callable[[Batch], Tensor]) -> tuple[Tensor, Tensor | None]:
        """Logits (N, K) and distances (N, D), or None without layers. `run` gives the logits of a batch."""
        logits, activations = run_passes(network, batch, run, self.layers, self.views)
        if not self.layers:
            return logits, None
        return logits, mean_over_members(distances_from(self, self.layers, activations), self.members)

    def warn_of_other_values(self, batch: Batch) -> None:
        """Warns, once, of images whose values are far outside those of the fit, where reading them does not wait for a
        device."""
        images = None if self.value_range is None or self.has_warned else find_images(batch)
        if images is None or not images.is_floating_point() or not images.numel() or not can_be_read(images):
            return
        assert self.value_range is not None
        (low, high), (least, most) = self.value_range, map(float, torch.aminmax(images.detach()))
        if max(low - least, most - high) > FAR * (high - low) > 0:
            self.has_warned = True
            values = f"from {least:.3g} to {most:.3g}, those of the fit were in [{low:.3g}, {high:.3g}]"
            message = f"the images have values {values}: preprocess them as for the fit"
            with warnings_at_caller():
                warnings.warn(message, CalibrationWarning, stacklevel=2)

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Passes:
        device = fn(torch.empty(0)).device
        for name, buffer in self._buffers.items():
            assert buffer is not None
            self._buffers[name] = buffer.to(device)
        return self


def register_statistics(owner: nn.Module, statistics: Iterable[FeatureStatistics]) -> None:
    """The statistics of each layer as buffers mean0, whiten0, mean1, ..."""
    for number, layer in enumerate(statistics):
        owner.register_buffer(f"mean{number}", torch.as_tensor(layer.mean, dtype=torch.float32))
        owner.register_buffer(f"whiten{number}", torch.as_tensor(layer.whiten, dtype=torch.float32))


def distances_from(owner: nn.Module, layers: Sequence[str], activations: Mapping[str, Tensor]) -> Tensor:
    """Distances (N, D) of channels (N, C) by the buffers of `register_statistics`."""
    squares = []
    for number, name in enumerate(layers):
        mean, whiten = (getattr(owner, f"{kind}{number}").float() for kind in ("mean", "whiten"))
        if activations[name].shape[-1] != len(mean):
            found = f"{activations[name].shape[-1]} channels, and {len(mean)} in the fit"
            raise ValueError(f"layer {name} of the network has {found}")
        squares.append(FeatureStatistics(mean, whiten).square(activations[name].float()))
    return torch.stack(squares, dim=-1).log1p()


def mean_over_members(distances: Any, members: int) -> Any:
    """Distances (N, D) of distances (N, members * D), the layers of one member after those of another."""
    return distances.reshape(len(distances), members, -1).mean(1) if members > 1 else distances


def run_passes(
    network: nn.Module, batch: Batch, run: Callable[[Batch], Tensor], layers: Sequence[str], views: str | None
) -> tuple[Tensor, dict[str, Tensor]]:
    """The logits, averaged over the views, and the channels (N, C) of the layers for the inputs themselves."""
    others = []
    if views is not None:
        images = find_images(batch)
        if images is None:
            raise ValueError("views must be None where the inputs are not images (N, C, H, W)")
        others = [run(replace_input(batch, images, view(images))) for view in VIEWS[views]]
    with record_activations(network, layers) as activations:
        logits = run(batch)
    return torch.stack([logits, *others]).mean(0) if others else logits, activations


def check_views(views: str | None) -> None:
    if views is not None and views not in VIEWS:
        raise ValueError(f"views must be None, {' or '.join(map(repr, VIEWS))}, got {views!r}")


def check_layers(network: nn.Module, layers: Sequence[str]) -> None:
    """An error if the network does not have these layers."""
    names = [name for name, _ in network.named_modules(remove_duplicate=False)]
    for layer in layers:
        if layer not in names:
            raise ValueError(f"the network has no layer {layer!r}; its layers are {', '.join(filter(None, names))}")


def find_images(batch: Batch) -> Tensor | None:
    """The images of a batch: its first input, or of a dict the one tensor with four axes; None where there is none."""
    given = batch[0][:1] or tuple(batch[1].values())
    found = [part for part in given if isinstance(part, Tensor) and part.ndim == 4]
    return found[0] if len(found) == 1 else None


def replace_input(batch: Batch, old: Any, new: Tensor) -> Batch:
    """The batch with another tensor in place of one of its inputs."""
    if len(new) != len(old):
        raise ValueError(f"`degrade` must keep the number of images, got {len(new)} for {len(old)}")
    positional = tuple(new if part is old else part for part in batch[0])
    return positional, {name: new if part is old else part for name, part in batch[1].items()}
