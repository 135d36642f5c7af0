"""Active learning on CIFAR-10: label the images of which a network is least sure, or random ones.

    python benchmarks/active_learning.py FOLDER     # with cifar10-train.npz and cifar10-test.npz

The features are those of a ResNet-20 that was trained on the other classes of CIFAR-100; a network of one hidden layer
learns from 200 random images of 50,000, then nine times from 200 more, each time from new weights. Softmax chooses by
its confidence, by the margin between its two largest probabilities or by its entropy; one-vs-all by SLOVA's confidence
or margin, by the largest sigmoid, by P(none) or by P(several). Rows: benchmarks/results/active_learning.csv.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pandas as pd
import torch
from slova_bench import data, zoo
from torch import Tensor, nn

import slova
from slova.artifact import atomic_path

STEP, ROUNDS, SEEDS, UPDATES, BATCH, HIDDEN = 200, 10, 5, 500, 128, 256
RESULTS = Path(__file__).parent / "results" / "active_learning.csv"
Doubt = Callable[[Tensor], Tensor]


def _margin(log_probs: Tensor) -> Tensor:
    first, second = log_probs.exp().topk(2).values.T
    return first - second


def _entropy(log_probs: Tensor) -> Tensor:
    return -(log_probs.exp() * log_probs).sum(1)


DOUBTS: dict[str, dict[str, Doubt | None]] = {
    "softmax": {
        "random": None,
        "confidence": lambda logits: -slova.log_softmax(logits).amax(1),
        "margin": lambda logits: -_margin(slova.log_softmax(logits)),
        "entropy": lambda logits: _entropy(slova.log_softmax(logits)),
    },
    "ova": {
        "random": None,
        "confidence": lambda logits: -slova.log_slova(logits).amax(1),
        "margin": lambda logits: -_margin(slova.log_slova(logits)),
        "largest sigmoid": lambda logits: -logits.amax(1),
        "P(none)": slova.log_none,
        "P(several)": slova.log_several,
    },
}
LOSSES = {"softmax": nn.functional.cross_entropy, "ova": slova.ova_loss}
Sets = tuple[Tensor, Tensor, Tensor, Tensor]


def main() -> None:
    splits = [data.load(f"cifar10-{part}", folder=Path(sys.argv[1])) for part in ("train", "test")]
    train, test = (features(split.images) for split in splits)
    mean, std = train.mean(0), train.std(0)
    sets = ((train - mean) / std, splits[0].labels, (test - mean) / std, splits[1].labels)
    found = [
        {"seed": seed, "network": network, **row}
        for seed in range(SEEDS)
        for network in DOUBTS
        for row in rows(network, seed, sets)
    ]
    with atomic_path(RESULTS) as temporary:
        pd.DataFrame(found).to_csv(temporary, index=False, float_format="%.5g")


@torch.no_grad()
def features(images: Tensor) -> Tensor:
    network = zoo.load("softmax-cifar100")[:-1].to(memory_format=torch.channels_last)
    return torch.cat([network(part.float() / 255) for part in images.split(100)])


def rows(name: str, seed: int, sets: Sets) -> Iterator[dict[str, object]]:
    inputs, labels, test, truth = sets
    order = torch.randperm(len(labels), generator=torch.Generator().manual_seed(seed))
    for chosen_by, doubt in DOUBTS[name].items():
        known, pool = order[:STEP], order[STEP:]
        for _ in range(ROUNDS):
            network = trained(name, inputs[known], labels[known], seed)
            accuracy = (network(test).argmax(1) == truth).float().mean().item()
            yield {"chosen_by": chosen_by, "labels": len(known), "accuracy": accuracy}
            if doubt is not None:
                pool = pool[doubt(network(inputs[pool])).argsort(descending=True)]
            known, pool = torch.cat([known, pool[:STEP]]), pool[STEP:]
        print(name, seed, chosen_by, f"{accuracy:.4f}", flush=True)


def trained(name: str, inputs: Tensor, labels: Tensor, seed: int) -> nn.Module:
    torch.manual_seed(seed)
    network = nn.Sequential(nn.Linear(inputs.shape[1], HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, 10))
    network = slova.prepare(network) if name == "ova" else network
    optimiser = torch.optim.AdamW(network.parameters(), 2e-3, weight_decay=1e-2)
    for _ in range(UPDATES):
        batch = torch.randint(len(labels), (BATCH,))
        optimiser.zero_grad()
        LOSSES[name](network(inputs[batch]), labels[batch]).backward()  # type: ignore[no-untyped-call]
        optimiser.step()
    return network.requires_grad_(False)


if __name__ == "__main__":
    main()
