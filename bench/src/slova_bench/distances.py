"""Networks that return distances beside their logits: how far an image is from the validation images, per layer."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn

from slova._backend import Array
from slova._batches import Batch, evaluation_mode
from slova.vision.features import FeatureStatistics, last_layer_per_resolution, record_activations
from slova.vision.passes import run_passes
from slova_bench.method import Splits
from slova_bench.stable import stable

__all__ = ["WithDistances", "with_distances"]

BATCH = 1000


class WithDistances(nn.Module):
    """A network whose outputs (N, K + D) are its logits and the distances log(1 + d^2 / channels) in D layers. With
    `views`, logits are the mean over these (`slova.vision.passes`), and distances those of the image itself."""

    def __init__(
        self, network: nn.Sequential, statistics: dict[str, FeatureStatistics], *, views: str | None = None
    ) -> None:
        super().__init__()
        self.network, self.layers, self.views = network, tuple(statistics), views
        for number, layer in enumerate(statistics.values()):
            self.register_buffer(f"mean{number}", torch.as_tensor(layer.mean, dtype=torch.float32))
            self.register_buffer(f"whiten{number}", torch.as_tensor(layer.whiten, dtype=torch.float32))

    def forward(self, images: Tensor) -> Tensor:
        batch: Batch = ((images,), {})
        logits, activations = run_passes(
            self.network, batch, lambda one: self.network(*one[0]).float(), self.layers, self.views
        )
        found = [self._distance(number, activations[layer]) for number, layer in enumerate(self.layers)]
        return torch.cat([logits, torch.stack(found, dim=1)], dim=1)

    def _distance(self, number: int, channels: Tensor) -> Tensor:
        statistics = FeatureStatistics(getattr(self, f"mean{number}"), getattr(self, f"whiten{number}"))
        distance: Tensor = statistics.square(channels.float())
        return distance.log1p()


@stable("with_distances")
def with_distances(network: nn.Sequential, splits: Splits, *, views: str | None = None) -> nn.Sequential:
    """The network with distances from the validation images, in the last layer of each resolution."""
    device = next(network.parameters()).device
    images, channels = splits.validation.images, dict[str, list[Array]]()
    with torch.no_grad(), evaluation_mode(network):
        layers = last_layer_per_resolution(network, images[:2].to(device).float() / 255)
        for first in range(0, len(images), BATCH):
            with record_activations(network, layers) as activations:
                network(images[first : first + BATCH].to(device).float() / 255)
            for layer in layers:
                channels.setdefault(layer, []).append(activations[layer].float().cpu().numpy())
    statistics = {layer: FeatureStatistics.of(np.concatenate(parts)) for layer, parts in channels.items()}
    return nn.Sequential(WithDistances(network, statistics, views=views).to(device))
