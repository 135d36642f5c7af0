"""Distances to the nearest validation images, as two more columns after the distances per layer.

The validation images are split into two halves, those of even and those of odd rows, and an image gets its distance to
each. A row of a calibration fit is a validation image or made from one: it uses the half without that image, so that
it is as far from its neighbours as a new image is. New images use the first half.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from slova._backend import Array
from slova._batches import evaluation_mode
from slova.heads import Readout
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

    def __init__(self, network: WithDistances, features: Tensor) -> None:
        super().__init__()
        self.network, self.layer = network, _penultimate(network.network)
        halves = [functional.normalize(features[half::HALVES], dim=1) for half in range(HALVES)]
        for half, bank in enumerate(halves):
            self.register_buffer(f"half{half}", bank)
        between = torch.cat([_distance(halves[0], halves[1]), _distance(halves[1], halves[0])])
        self.register_buffer("scale", between.square().mean().sqrt().clamp_min(1e-6))  # equal images have no scale

    def forward(self, images: Tensor) -> Tensor:
        with record_activations(self.network.network, (self.layer,)) as activations:
            outputs = self.network(images)
        features = functional.normalize(activations[self.layer].float(), dim=1)
        found = [_distance(features, getattr(self, f"half{half}")) for half in range(HALVES)]
        return torch.cat([outputs, (torch.stack(found, dim=1) / self.scale).square().log1p()], dim=1)


def _penultimate(network: nn.Sequential) -> str:
    """The name of the layer in front of the classifier."""
    return [name for name, _ in network.named_children()][-2]


def _distance(features: Tensor, bank: Tensor) -> Tensor:
    return torch.cdist(features, bank).kthvalue(min(NEIGHBOUR, len(bank)), dim=1).values


@stable("with_neighbours", version=2)
def with_neighbours(network: nn.Sequential, splits: Splits) -> nn.Sequential:
    """The network with distances per layer and to neighbours, all from the validation images."""
    device, images = next(network.parameters()).device, splits.validation.images
    inner = with_distances(network, splits)[0]
    assert isinstance(inner, WithDistances)
    with torch.no_grad(), evaluation_mode(network):
        batches = [images[first : first + BATCH] for first in range(0, len(images), BATCH)]
        features = torch.cat([network[:-1](batch.to(device).float() / 255).float() for batch in batches])
        return nn.Sequential(WithNeighbours(inner, features))


@stable("posterior_with_neighbours", version=2)
def posterior_with_neighbours(rows: CalibrationRows, *, head: str) -> Fitted:
    """`posterior`, with one distance to neighbours: in the fit to the half without the image that a row is made from,
    else to the first."""
    other = rows.outputs.shape[-1] - 1 - rows.groups % HALVES  # an even row is in the first half, and uses the second
    chosen = np.take_along_axis(rows.outputs, other[None, :, None], axis=2)
    fitted = posterior(rows._replace(outputs=np.concatenate([rows.outputs[..., :-HALVES], chosen], axis=2)), head=head)
    return partial(_first_half, fitted)


def _first_half(fitted: Fitted, outputs: Array) -> Readout:
    return fitted(outputs[..., :-1])
