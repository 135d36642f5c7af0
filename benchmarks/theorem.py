"""Theorem 3.1 on real ReLU networks: how often the confidence goes to 1 along a ray alpha x (some minutes on a CPU).

    python benchmarks/theorem.py

Without batch norm f(alpha x) / alpha approaches the output of the same network without biases, so the limit of every
sigmoid is known exactly: 1 where that output is positive, 0 where it is negative. SLOVA's confidence goes to 1 where
exactly one is positive, that of OVA where at least one is. If signs were independent and fair, this would happen with
probability K / 2^K and 1 - 1 / 2^K (the paper prints 1 / 2^K). Rows: benchmarks/results/theorem.csv.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import torch
from sklearn.datasets import load_digits
from torch import Tensor, nn

import slova

CLASSES, SEEDS, RAYS = (2, 3, 5, 10), 5, 4000
FAR = 1e6
RESULTS = Path(__file__).parent / "results" / "theorem.csv"
NETWORKS = {
    "MLP": lambda k: nn.Sequential(
        nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, k)
    ),
    "CNN": lambda k: nn.Sequential(
        nn.Unflatten(1, (1, 8, 8)), nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(),
        nn.Conv2d(16, 32, 3, stride=2), nn.ReLU(), nn.Flatten(), nn.Linear(288, k),
    ),
}  # fmt: skip


def main() -> None:
    torch.set_num_threads(1)
    found = [row for name in NETWORKS for k in CLASSES for seed in range(SEEDS) for row in rows(name, k, seed)]
    pd.DataFrame(found).to_csv(RESULTS, index=False, float_format="%.5g")


def rows(name: str, classes: int, seed: int) -> Iterator[dict[str, object]]:
    torch.manual_seed(seed)
    images, labels = digits(classes)
    order = torch.randperm(len(labels))
    train, test = order[: len(order) * 3 // 4], order[len(order) * 3 // 4 :]
    network = slova.prepare(NETWORKS[name](classes))
    for trained in (False, True):
        if trained:
            fit(network, images[train], labels[train])
        accuracy = (network(images[test]).argmax(1) == labels[test]).float().mean().item()
        for rays, inputs in (("random", torch.randn(RAYS, 64)), ("images", images[test])):
            shares = far(network, inputs)
            who = {"network": name, "classes": classes, "seed": seed, "trained": int(trained), "rays": rays}
            yield {**who, "n": len(inputs), "accuracy": accuracy, **shares}


@torch.no_grad()
def far(network: nn.Module, inputs: Tensor) -> dict[str, float]:
    """Shares of rays with a confidence that goes to 1, in the limit and at a large alpha, and of positive outputs."""
    linear = copy.deepcopy(network)
    for layer in linear.modules():
        if getattr(layer, "bias", None) is not None:
            layer.bias.zero_()
    positive = (linear(inputs) > 0).sum(1)
    logits = network.double()(FAR * inputs.double())
    network.float()
    confident = slova.log_slova(logits).amax(1).exp() > 0.5
    return {
        "slova": (positive == 1).float().mean().item(),
        "ova": (positive > 0).float().mean().item(),
        "slova_far": confident.float().mean().item(),
        "positive": (positive.float().mean() / logits.shape[1]).item(),
    }


def fit(network: nn.Module, images: Tensor, labels: Tensor) -> None:
    optimiser = torch.optim.Adam(network.parameters(), 1e-3)
    for _ in range(40):
        for batch in torch.randperm(len(labels)).split(64):
            optimiser.zero_grad()
            slova.ova_loss(network(images[batch]), labels[batch]).backward()
            optimiser.step()


def digits(classes: int) -> tuple[Tensor, Tensor]:
    """The digits below `classes`, centred: in [-1, 1]."""
    images, labels = (torch.tensor(part) for part in load_digits(return_X_y=True))
    kept = labels < classes
    return (images[kept] / 8 - 1).float(), labels[kept]


if __name__ == "__main__":
    main()
