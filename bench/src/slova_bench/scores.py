"""Networks that return what published OOD scores and calibrators need, beside their logits: with stored outputs, every
row can be computed again without a network.

The columns after the K logits are: the score of fDBD (Liu & Qin 2024); the energy after ASH-S (Djurisic et al. 2023) at
each of PERCENTILES; and the squared distances to the NEIGHBOUR-th nearest training image, features of unit length, in
the last layer of each resolution but the last, in the features of the classifier, and in the logits.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from slova._backend import Array
from slova._batches import evaluation_mode
from slova.vision.features import last_layer_per_resolution, record_activations
from slova_bench.calibrate import class_temperature
from slova_bench.method import CalibrationRows, Fitted, Splits
from slova_bench.networks import last_linear
from slova_bench.stable import stable

__all__ = ["PERCENTILES", "ash", "columns", "logits_of", "temperature", "with_scores"]

BATCH = 1000
NEIGHBOUR = 50
PERCENTILES = (65, 70, 75, 80, 85, 90, 95)  # of the features that ASH removes


class WithScores(nn.Module):
    """A network whose outputs (N, K + 1 + P + L) are its logits, fDBD, the energies of ASH-S, and distances from the
    training images (uint8)."""

    centre: Tensor
    between: Tensor

    def __init__(self, network: nn.Sequential, layers: tuple[str, ...], images: Tensor) -> None:
        super().__init__()
        self.network, self.layers = network, layers
        weight = last_linear(network).weight.detach().float()
        apart = torch.cdist(weight, weight, compute_mode="donot_use_mm_for_euclid_dist")
        self.register_buffer("between", apart + torch.eye(len(weight), device=weight.device))  # no division by zero
        parts = [self._features(part.to(weight.device).float() / 255) for part in torch.split(images, BATCH)]
        every = [torch.cat(layer) for layer in zip(*parts, strict=True)]
        self.register_buffer("centre", every[-2].mean(dim=0))
        for number, features in enumerate(every):
            self.register_buffer(f"bank{number}", functional.normalize(features))

    def forward(self, images: Tensor) -> Tensor:
        every = self._features(images)
        features, logits = every[-2:]
        classifier = last_linear(self.network)
        energies = [classifier(ash(features, percentile)).float().logsumexp(dim=1) for percentile in PERCENTILES]
        distances = [self._distance(number, found) for number, found in enumerate(every)]
        return torch.cat([logits, torch.stack([self._boundary(features, logits), *energies, *distances], dim=1)], dim=1)

    def _features(self, images: Tensor) -> list[Tensor]:
        """The channels of the layers, the features of the classifier, and the logits."""
        with record_activations(self.network, self.layers) as activations:
            features = self.network[:-1](images)
        return [*(activations[layer].float() for layer in self.layers), features.float(), self.network[-1](features)]

    def _boundary(self, features: Tensor, logits: Tensor) -> Tensor:
        """The mean distance to the decision boundaries, by that from the mean of the training features."""
        largest, top = logits.max(dim=1, keepdim=True)
        distance = ((largest - logits) / self.between[top[:, 0]]).sum(dim=1) / (logits.shape[1] - 1)
        away: Tensor = (features - self.centre).norm(dim=1)
        return distance / away.clamp(min=1e-12)

    def _distance(self, number: int, features: Tensor) -> Tensor:
        bank = getattr(self, f"bank{number}")
        similar: Tensor = (functional.normalize(features) @ bank.T).topk(min(NEIGHBOUR, len(bank)), dim=1).values
        return 2 - 2 * similar[:, -1]  # of unit vectors


def ash(features: Tensor, percentile: int) -> Tensor:
    """ASH-S: all but the largest features are removed, the others multiplied by exp(sum before / sum after)."""
    count = features.shape[1] - round(features.shape[1] * percentile / 100)
    kept, places = features.topk(count, dim=1)
    grown = kept * (features.sum(dim=1, keepdim=True) / kept.sum(dim=1, keepdim=True).clamp(min=1e-12)).exp()
    return torch.zeros_like(features).scatter(1, places, grown)


@stable("with_scores")
@torch.no_grad()
def with_scores(network: nn.Sequential, splits: Splits) -> nn.Sequential:
    """The network with the scores of this module. The features of the classifier stand for the last resolution."""
    device = last_linear(network).weight.device
    with evaluation_mode(network):
        layers = last_layer_per_resolution(network, splits.training.images[:2].to(device).float() / 255)[:-1]
        return nn.Sequential(WithScores(network, layers, splits.training.images).eval())


def logits_of(outputs: Array, classes: int) -> Array:
    """Logits (N, K), averaged over networks and passes."""
    mean: Array = outputs[..., :classes].astype(np.float64).mean(axis=0)
    return mean


def columns(outputs: Array, classes: int) -> tuple[Array, Array, Array]:
    """The score of fDBD (N,), the energies of ASH-S (N, P), and the distances (N, L), averaged likewise."""
    more = outputs[..., classes:].astype(np.float64).mean(axis=0)
    return more[:, 0], more[:, 1 : 1 + len(PERCENTILES)], more[:, 1 + len(PERCENTILES) :]


@stable("temperature_of_logits")
def temperature(rows: CalibrationRows) -> Fitted:
    return class_temperature(rows)
