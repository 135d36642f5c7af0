"""A one-vs-all network that knows how far from home it is: the further an image is from the validation images, the less
is made of its logits.

    network = DistanceAware.fit(network, (val_images, val_labels))
    classifier = slova.Classifier.fit(network, (val_images, val_labels), head=slova.read_softmax, calibrate=None)

How far is measured in a few layers, by the mean of each channel over the image: log(1 + d^2 / channels), with d the
Mahalanobis distance from the validation images. A row of logits does not know that its image is shifted; these
distances do. What they mean is learned from validation images, as they are and degraded, by `DistanceCalibration`: two
numbers a layer and two more. The order of the classes stays as it was, and much further away than all of these images
all classes are alike.
"""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from slova._backend import Array
from slova._batches import Batch, as_tensors, batches, device_of, evaluation_mode, logits_of
from slova.calibration.distance import DistanceCalibration
from slova.calibration.exponential import SmallValidationWarning
from slova.vision.degradations import degraded
from slova.vision.features import last_layer_per_resolution, record_activations

__all__ = ["DistanceAware", "FeatureStatistics", "FlipAveraged", "last_layer_per_resolution"]

CLEAN = 6.0  # how often an image as it is counts, against once degraded; chosen on validation images
RIDGE = 1e-3  # of the mean variance, for directions in which the validation images hardly differ
ENOUGH = 3  # validation images a channel: with fewer, new images seem further away than those

CALIBRATION = ("positive_weights", "negative_weights", "max_distance")  # buffers, as in `DistanceCalibration`

Degrade = Callable[..., Tensor]  # (images, *, seed) -> images


class FlipAveraged(nn.Module):
    """The mean of what a network says of images and of their mirror images: twice the work, for images whose mirror
    image could as well have been taken. `DistanceAware.fit(FlipAveraged(network), ...)` looks at the distances of the images."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(self, *inputs: Any, **named: Any) -> Tensor:
        turned, other = _changed(inputs, named, lambda images: images.flip(-1))
        mirrored = logits_of(self.network(*turned, **other))  # first: who watches the layers sees the last pass
        return (logits_of(self.network(*inputs, **named)) + mirrored) / 2


class FeatureStatistics(NamedTuple):
    """Where the validation images are in a layer: the mean of the channels (C,), and the matrix (C, C) that makes their
    spread one in every direction."""

    mean: Array
    whiten: Array

    @classmethod
    def of(cls, channels: Array) -> FeatureStatistics:
        """From the channels (N, C) of some images."""
        channels = np.asarray(channels, np.float64)
        mean = channels.mean(axis=0)
        covariance = (channels - mean).T @ (channels - mean) / len(channels)
        ridge = RIDGE * np.trace(covariance) / len(covariance) + 1e-12  # channels that are always 0 have no spread
        return cls(mean, np.linalg.inv(np.linalg.cholesky(covariance + ridge * np.eye(len(covariance)))).T)


class DistanceAware(nn.Module):
    """The network, the homes of its layers by their names, and the map; `forward` gives log-probabilities (N, K)."""

    positive_weights: Tensor
    negative_weights: Tensor
    max_distance: Tensor

    def __init__(self, network: nn.Module, homes: Mapping[str, FeatureStatistics], map: DistanceCalibration) -> None:
        super().__init__()
        if not homes or len(map.positive_weights) != len(homes) + 1:
            raise ValueError(f"a map of {len(map.positive_weights) - 1} distances does not fit {len(homes)} layers")
        self.network, self.layers = network, tuple(homes)
        for number, home in enumerate(homes.values()):
            self.register_buffer(f"mean{number}", torch.as_tensor(home.mean, dtype=torch.float32))
            self.register_buffer(f"whiten{number}", torch.as_tensor(home.whiten, dtype=torch.float32))
        for name in CALIBRATION:
            self.register_buffer(name, torch.as_tensor(getattr(map, name), dtype=torch.float32))

    @classmethod
    def fit(
        cls,
        network: nn.Module,
        validation: Any,
        *,
        layers: Sequence[str] | None = None,
        degrade: Degrade = degraded,
        clean: float = CLEAN,
        batch_size: int = 256,
    ) -> DistanceAware:
        """From labelled validation images, floats of [0, 1], as for `Classifier.fit`; NONE labels allowed. Images come
        first in a tuple, or are the one tensor (N, C, H, W) of a dict.

        `layers` are names of modules, the last of each resolution unless told; a string is one layer. They give
        (N, C), (N, C, H, W) or, like those of transformers, (N, tokens, C).
        `degrade(images, seed=0)` makes images worse: for a network whose images are normalised before they reach it, a
        function that undoes that and does it again. An image as it is counts `clean` times as much as one degraded.
        """
        as_is, worse, labels = _asked(
            network,
            batches(as_tensors(validation, network), batch_size, device_of(network), labelled=True),
            _known(network, layers),
            degrade,
        )
        _warn_if_few(as_is.channels)
        homes = {name: FeatureStatistics.of(channels) for name, channels in as_is.channels.items()}
        logits = np.vstack([as_is.logits, worse.logits])
        distances = np.vstack([_distances(part.channels, homes) for part in (as_is, worse)])
        weight = np.repeat([clean, 1.0], len(labels))
        map = DistanceCalibration.fit(logits, np.tile(labels, 2), distances=distances, weight=weight)
        return cls(network, homes, map).to(device_of(network))

    @classmethod
    def untuned(
        cls, network: nn.Module, *inputs: Any, layers: Sequence[str] | None = None, **named: Any
    ) -> DistanceAware:
        """One that changes nothing, in the shape that `fit` gives it: to load a state dict into."""
        with evaluation_mode(network):
            chosen = _known(network, layers) or last_layer_per_resolution(network, *inputs, **named)
            found = _passed(network, chosen, inputs, named).channels
        homes = {
            name: FeatureStatistics(np.zeros(part.shape[1]), np.eye(part.shape[1])) for name, part in found.items()
        }
        neutral = np.eye(1, len(homes) + 1)[0]
        return cls(network, homes, DistanceCalibration(neutral, neutral)).to(device_of(network))

    def forward(self, *inputs: Any, **named: Any) -> Tensor:
        with record_activations(self.network, self.layers) as seen:
            logits = logits_of(self.network(*inputs, **named)).float()
        log_probs: Tensor = DistanceCalibration.__call__(self, logits, self._distances(seen))  # type: ignore[arg-type]
        return log_probs

    def distances(self, *inputs: Any, **named: Any) -> Tensor:
        """How far inputs are from home in each layer (N, layers); about log 2 for images like the validation images."""
        with record_activations(self.network, self.layers) as seen:
            self.network(*inputs, **named)
        return self._distances(seen)

    @property
    def map(self) -> DistanceCalibration:
        return DistanceCalibration(*(getattr(self, name).cpu().numpy() for name in CALIBRATION))

    def get_extra_state(self) -> Tensor:
        """Which layers the numbers are of, as bytes: others could have as many channels."""
        return torch.frombuffer(bytearray(hashlib.sha256("\n".join(self.layers).encode()).digest()), dtype=torch.uint8)

    def set_extra_state(self, state: Tensor) -> None:
        if not torch.equal(state.cpu(), self.get_extra_state()):
            raise ValueError(f"the numbers are of other layers than {', '.join(self.layers)}")

    def _distances(self, seen: Mapping[str, Tensor]) -> Tensor:
        parts = [(getattr(self, f"mean{n}"), getattr(self, f"whiten{n}")) for n in range(len(self.layers))]
        homes = [FeatureStatistics(mean.float(), whiten.float()) for mean, whiten in parts]
        squares = [_square(seen[name].float(), home) for name, home in zip(self.layers, homes, strict=True)]
        return torch.stack(squares, dim=-1).log1p()


class _Said(NamedTuple):
    """Logits (N, K), and the channels (N, C) of each layer."""

    logits: Array
    channels: Mapping[str, Array]


def _asked(
    network: nn.Module, stream: Any, layers: Sequence[str] | None, degrade: Degrade
) -> tuple[_Said, _Said, Array]:
    """What the network says of every batch as it is and degraded, and the labels."""
    as_is, worse, labels = list[_Said](), list[_Said](), list[Tensor]()
    with evaluation_mode(network):
        for number, ((inputs, named), truth) in enumerate(stream):
            layers = layers or last_layer_per_resolution(network, *inputs, **named)
            as_is.append(_passed(network, layers, inputs, named))
            worse.append(_passed(network, layers, *_changed(inputs, named, partial(degrade, seed=number))))
            if truth.shape != (len(as_is[-1].logits),):
                raise ValueError(f"wanted one label an image, got {tuple(truth.shape)} for {len(as_is[-1].logits)}")
            labels.append(truth.cpu())
    if not labels:
        raise ValueError("there are no images to fit on")
    return _joined(as_is), _joined(worse), torch.cat(labels).numpy()


def _known(network: nn.Module, layers: Sequence[str] | None) -> tuple[str, ...]:
    """These layers, or an error that names those that there are."""
    chosen = (layers,) if isinstance(layers, str) else tuple(layers or ())
    names = [name for name, _ in network.named_modules(remove_duplicate=False)]
    for layer in chosen:
        if layer not in names:
            raise ValueError(f"the network has no layer {layer!r}: there are {', '.join(filter(None, names))}")
    return chosen


def _warn_if_few(layers: Mapping[str, Array]) -> None:
    for name, channels in layers.items():
        images, width = channels.shape
        if images < ENOUGH * width:
            warnings.warn(
                f"{images} validation images are few for the {width} channels of layer {name}: new images will seem "
                f"further away than they are; take {ENOUGH * width} or more, or other layers",
                SmallValidationWarning,
                stacklevel=3,
            )


def _changed(inputs: tuple[Any, ...], named: dict[str, Any], change: Callable[[Tensor], Tensor]) -> Batch:
    """With other images, as many, and all else as it is."""
    if inputs:
        return (_as_many(inputs[0], change(inputs[0])), *inputs[1:]), named
    images = [name for name, value in named.items() if isinstance(value, Tensor) and value.ndim == 4]
    if len(images) != 1:
        raise ValueError(
            f"a dict wants one tensor of images (N, C, H, W), got {len(images)} among {', '.join(named)}: "
            "give the images first in a tuple"
        )
    return inputs, {**named, images[0]: _as_many(named[images[0]], change(named[images[0]]))}


def _as_many(images: Tensor, others: Tensor) -> Tensor:
    if len(others) != len(images):
        raise ValueError(f"{len(images)} images were made into {len(others)}: `degrade` wants to keep their number")
    return others


def _passed(network: nn.Module, layers: Sequence[str], inputs: tuple[Any, ...], named: Mapping[str, Any]) -> _Said:
    with record_activations(network, layers) as seen:
        logits = logits_of(network(*inputs, **named)).float().cpu().numpy()
    return _Said(logits, {name: seen[name].float().cpu().numpy() for name in layers})


def _joined(parts: Sequence[_Said]) -> _Said:
    channels = {name: np.concatenate([part.channels[name] for part in parts]) for name in parts[0].channels}
    return _Said(np.concatenate([part.logits for part in parts]), channels)


def _distances(channels: Mapping[str, Array], homes: Mapping[str, FeatureStatistics]) -> Array:
    return np.stack([np.log1p(_square(channels[name], home)) for name, home in homes.items()], axis=-1)


def _square(channels: Array, home: FeatureStatistics) -> Array:
    """The squared Mahalanobis distance per channel."""
    return (((channels - home.mean) @ home.whiten) ** 2).mean(-1)
