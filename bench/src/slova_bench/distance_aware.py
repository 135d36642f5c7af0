"""Distance-aware calibration: confidence decreases with the distance of an image from the validation images.

Distances are measured in a few layers of a one-vs-all network, on the channels averaged over all pixels:
log(1 + d^2 / channels), where d is the Mahalanobis distance from the validation images. Logits do not reveal that an
image is shifted; these distances do. `DistanceCalibration` learns their effect from validation images, clean and
degraded. The order of the classes does not change, and far beyond these images all classes become equally likely.
"""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from slova._backend import Array
from slova._batches import Batch, batches, device_of, evaluation_mode, logits_of
from slova._collect import as_tensors
from slova.calibration.exponential import SmallValidationWarning
from slova.vision.degradations import degrade
from slova.vision.features import FeatureStatistics, last_layer_per_resolution, record_activations
from slova.vision.passes import check_layers, distances_from, find_images, register_statistics, replace_input
from slova.vision.shift_aware import Outputs
from slova_bench.distance_calibration import DistanceCalibration

__all__ = ["DistanceAware", "FlipAveraged"]

CLEAN_WEIGHT = 6.0  # of a clean image, where a degraded one has 1; chosen on validation images
MIN_IMAGES = 3  # validation images per channel: with fewer, the distances of new images are overestimated

CALIBRATION = ("positive_weights", "negative_weights", "max_distance")  # buffers, as in `DistanceCalibration`

Degrade = Callable[..., Tensor]  # (images, *, seed) -> images


class FlipAveraged(nn.Module):
    """A network with flip test-time augmentation: the mean of its logits for images and their horizontal flips.

    It costs two forward passes. `DistanceAware.fit(FlipAveraged(network), ...)` uses the distances of the images
    themselves, not of their flips.

    >>> images = torch.rand(2, 3, 8, 8)
    >>> logits = FlipAveraged(nn.Flatten())(images)
    >>> logits.equal(FlipAveraged(nn.Flatten())(images.flip(-1)))
    True
    """

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(self, *inputs: Any, **named: Any) -> Tensor:
        flipped, flipped_named = _with_images((inputs, named), lambda images: images.flip(-1))
        flipped_logits = logits_of(self.network(*flipped, **flipped_named))  # first: hooks keep the last pass
        return (logits_of(self.network(*inputs, **named)) + flipped_logits) / 2


class DistanceAware(nn.Module):
    """A network with distance-aware calibration; `forward` returns log-probabilities (N, K).

    `statistics` maps the names of layers to their feature statistics, in the order of the distances of `calibration`.

    >>> import slova
    >>> aware = DistanceAware.fit(network, (val_images, val_labels), layers=["0"])
    >>> slova.Classifier.fit(aware, val_images, val_labels, calibration=None)
    Classifier(3 classes, softmax, no calibration on 1,000 rows, ECE ..., NONE absent)
    """

    returns_log_probs: ClassVar[bool] = True
    positive_weights: Tensor
    negative_weights: Tensor
    max_distance: Tensor

    def __init__(
        self, network: nn.Module, statistics: Mapping[str, FeatureStatistics], calibration: DistanceCalibration
    ) -> None:
        super().__init__()
        if not statistics or len(calibration.positive_weights) != len(statistics) + 1:
            distances = len(calibration.positive_weights) - 1
            raise ValueError(f"a calibration of {distances} distances does not match {len(statistics)} layers")
        self.network, self.layers = network, tuple(statistics)
        register_statistics(self, statistics.values())
        for name in CALIBRATION:
            self.register_buffer(name, torch.as_tensor(getattr(calibration, name), dtype=torch.float32))

    @classmethod
    def fit(
        cls,
        network: nn.Module,
        validation: Any,
        *,
        layers: Sequence[str] | None = None,
        degrade: Degrade = degrade,
        clean_weight: float = CLEAN_WEIGHT,
        batch_size: int = 256,
    ) -> DistanceAware:
        """Fit on labelled validation images in [0, 1], given as for `Classifier.fit`; labels may be NONE.

        `validation`: the images are the first item of a tuple, or the one tensor (N, C, H, W) of a dict.
        `layers`: names of modules, or one name; by default the last module of each resolution. Their outputs must be
            (N, C), (N, C, H, W) or, as in transformers, (N, tokens, C).
        `degrade`: called as `degrade(images, seed=0)`. If the images are already normalised, pass a function that
            undoes the normalisation, degrades, and normalises again.
        `clean_weight`: the weight of a clean image, where a degraded image has weight 1.
        """
        stream = batches(as_tensors(validation, network), batch_size, device_of(network), labelled=True)
        chosen, clean, degraded, labels = _evaluate(network, stream, _check_layers(network, layers), degrade)
        _warn_if_few(chosen, clean.channels)
        statistics = [FeatureStatistics.of(channels) for channels in clean.channels]
        logits = np.vstack([clean.logits, degraded.logits])
        distances = np.vstack([_distances(part, statistics) for part in (clean, degraded)])
        weight = np.repeat([clean_weight, 1.0], len(labels))
        calibration = DistanceCalibration.fit(logits, np.tile(labels, 2), distances=distances, weight=weight)
        return cls(network, dict(zip(chosen, statistics, strict=True)), calibration).to(device_of(network))

    @classmethod
    def identity(
        cls, network: nn.Module, *inputs: Any, layers: Sequence[str] | None = None, **named: Any
    ) -> DistanceAware:
        """A module of the shape that `fit` returns, whose calibration changes nothing: to load a state dict into."""
        with evaluation_mode(network):
            chosen = _check_layers(network, layers) or last_layer_per_resolution(network, *inputs, **named)
            widths = [part.shape[1] for part in _outputs(network, chosen, (inputs, named)).channels]
        blank = [FeatureStatistics(np.zeros(width), np.eye(width)) for width in widths]
        statistics = dict(zip(chosen, blank, strict=True))
        neutral = np.eye(1, len(statistics) + 1)[0]
        return cls(network, statistics, DistanceCalibration(neutral, neutral)).to(device_of(network))

    def forward(self, *inputs: Any, **named: Any) -> Tensor:
        with record_activations(self.network, self.layers) as activations:
            logits = logits_of(self.network(*inputs, **named)).float()
        distances = distances_from(self, self.layers, activations)
        log_probs: Tensor = DistanceCalibration.__call__(self, logits, distances)  # type: ignore[arg-type]
        return log_probs

    def distances(self, *inputs: Any, **named: Any) -> Tensor:
        """The distances (N, layers) of inputs from the validation images; about log 2 for images like these."""
        with record_activations(self.network, self.layers) as activations:
            self.network(*inputs, **named)
        return distances_from(self, self.layers, activations)

    @property
    def calibration(self) -> DistanceCalibration:
        """The calibration as a value, on the host."""
        return DistanceCalibration(*(getattr(self, name).cpu().numpy() for name in CALIBRATION))

    def get_extra_state(self) -> Tensor:
        """A hash of the names of the layers, because other layers may have the same shapes."""
        return torch.frombuffer(bytearray(hashlib.sha256("\n".join(self.layers).encode()).digest()), dtype=torch.uint8)

    def set_extra_state(self, state: Tensor) -> None:
        if not torch.equal(state.cpu(), self.get_extra_state()):
            raise ValueError(f"the state dict was fitted on other layers than {', '.join(self.layers)}")


def _evaluate(
    network: nn.Module, stream: Iterable[tuple[Batch, Tensor]], layers: Sequence[str], degrade: Degrade
) -> tuple[Sequence[str], Outputs, Outputs, Array]:
    """The layers, the outputs for all clean images, for all degraded images, and the labels."""
    clean, degraded, labels = list[Outputs](), list[Outputs](), list[Tensor]()
    with evaluation_mode(network):
        for number, (batch, truth) in enumerate(stream):
            layers = layers or last_layer_per_resolution(network, *batch[0], **batch[1])
            clean.append(_outputs(network, layers, batch))
            degraded.append(_outputs(network, layers, _with_images(batch, partial(degrade, seed=number))))
            if truth.shape != (len(clean[-1].logits),):
                raise ValueError(f"labels {tuple(truth.shape)} do not match {len(clean[-1].logits)} images")
            labels.append(truth.cpu())
    if not labels:
        raise ValueError("validation must contain at least one image")
    return layers, Outputs.joined(clean), Outputs.joined(degraded), torch.cat(labels).numpy()


def _check_layers(network: nn.Module, layers: Sequence[str] | None) -> tuple[str, ...]:
    chosen = (layers,) if isinstance(layers, str) else tuple(layers or ())
    check_layers(network, chosen)
    return chosen


def _warn_if_few(layers: Sequence[str], channels: Sequence[Array]) -> None:
    for name, (images, width) in zip(layers, map(np.shape, channels), strict=True):
        if images < MIN_IMAGES * width:
            warnings.warn(
                f"{images} validation images are few for the {width} channels of layer {name}: the distances of new "
                f"images will be overestimated; use {MIN_IMAGES * width} images or more, or other layers",
                SmallValidationWarning,
                stacklevel=3,
            )


def _with_images(batch: Batch, change: Callable[[Tensor], Tensor]) -> Batch:
    """The batch with `change(images)` in place of its images."""
    images = batch[0][0] if batch[0] else find_images(batch)
    if images is None:
        count = sum(isinstance(value, Tensor) and value.ndim == 4 for value in batch[1].values())
        raise ValueError(
            f"a dict must contain one tensor of images (N, C, H, W), got {count} among {', '.join(batch[1])}; "
            "alternatively give the images first in a tuple"
        )
    return replace_input(batch, images, change(images))


def _outputs(network: nn.Module, layers: Sequence[str], batch: Batch) -> Outputs:
    with record_activations(network, layers) as activations:
        logits = logits_of(network(*batch[0], **batch[1])).float().cpu().numpy()
    return Outputs(logits, [activations[name].float().cpu().numpy() for name in layers], np.arange(len(logits)))


def _distances(part: Outputs, statistics: Sequence[FeatureStatistics]) -> Array:
    squares = [layer.square(channels) for layer, channels in zip(statistics, part.channels, strict=True)]
    return np.log1p(np.stack(squares, axis=-1))
