"""Distances to the nearest validation images, as two more columns after the distances per layer.

The validation images are split into two halves, those of even and those of odd rows, and an image gets its distance to
each. A row of a calibration fit is a validation image or made from one: it uses the half without that image, so that
it is as far from its neighbours as a new image is. New images use the first half.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from slova._batches import device_of, evaluation_mode
from slova.vision.features import record_activations
from slova_bench.calibrate import posterior
from slova_bench.distances import WithDistances, with_distances
from slova_bench.method import CalibrationRows, Fitted, Splits
from slova_bench.stable import stable

__all__ = ["WithNeighbours", "posterior_with_neighbours", "with_neighbours"]

BATCH = 1000
NEIGHBOUR = 10  # among 2,500 images of CIFAR-10, 250 per class; not searched
HALVES = 2


class WithNeighbours(nn.Module):
    """A network whose outputs (N, K + D + 2) end in log(1 + (d / scale)^2), d the distance of the features, of unit
    length, to the tenth nearest in each half; `scale` is the root mean square of d between the halves."""

    scale: Tensor

    def __init__(self, network: WithDistances, images: Tensor) -> None:
        super().__init__()
        self.network, self.layer = network, list(dict(network.network.named_children()))[-2]
        parts = [network.network[:-1](part.float() / 255).float() for part in torch.split(images, BATCH)]
        features = functional.normalize(torch.cat(parts), dim=1)
        for half in range(HALVES):
            self.register_buffer(f"half{half}", features[half::HALVES])
        between = torch.cat([self._distance(features[half::HALVES], 1 - half) for half in range(HALVES)])
        self.register_buffer("scale", between.square().mean().sqrt().clamp_min(1e-6))  # equal images have no scale

    def forward(self, images: Tensor) -> Tensor:
        with record_activations(self.network.network, (self.layer,)) as activations:
            outputs = self.network(images)
        features = functional.normalize(activations[self.layer].float(), dim=1)
        found = torch.stack([self._distance(features, half) for half in range(HALVES)], dim=1)
        return torch.cat([outputs, (found / self.scale).square().log1p()], dim=1)

    def _distance(self, features: Tensor, half: int) -> Tensor:
        """To the tenth nearest of a half."""
        bank = getattr(self, f"half{half}")
        return torch.cdist(features, bank).kthvalue(min(NEIGHBOUR, len(bank)), dim=1).values


@stable("with_neighbours", version=2)
def with_neighbours(network: nn.Sequential, splits: Splits) -> nn.Sequential:
    """The network with distances per layer and to neighbours, all from the validation images."""
    inner = with_distances(network, splits)[0]
    assert isinstance(inner, WithDistances)
    with evaluation_mode(network):
        return nn.Sequential(WithNeighbours(inner, splits.validation.images.to(device_of(network))))


@stable("posterior_with_neighbours", version=2)
def posterior_with_neighbours(rows: CalibrationRows, *, head: str) -> Fitted:
    """`posterior`, with one distance to neighbours: in the fit to the half without the image that a row is made from,
    else to the first."""
    other = rows.outputs.shape[-1] - 1 - rows.groups % HALVES  # an even row is in the first half, and uses the second
    chosen = np.take_along_axis(rows.outputs, other[None, :, None], axis=2)
    fitted = posterior(rows._replace(outputs=np.concatenate([rows.outputs[..., :-HALVES], chosen], axis=2)), head=head)
    return lambda outputs: fitted(outputs[..., :-1])
