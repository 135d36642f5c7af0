"""Active learning on CIFAR-10: label the images of which a network is least sure, or random ones.

    python benchmarks/active_learning.py FOLDER [SEED ...]     # with cifar10-train.npz and cifar10-test.npz

ResNet-20 learns from 2,000 random images of 45,000, then four times from 2,000 more, 3,000 updates each time from new
weights. Softmax chooses by its confidence; one-vs-all by SLOVA's, by the largest sigmoid, by P(none) or by P(several);
calibration changes no order. Rows: benchmarks/results/active_learning.csv; seeds that are there are kept.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pandas as pd
import torch
from slova_bench import data
from slova_bench.dataset_recipes import dataset_recipe
from slova_bench.methods import methods
from slova_bench.train import Execution, Recipe, seeded, train
from torch import Tensor, nn

import slova
from slova.artifact import atomic_path

STEP, ROUNDS, UPDATES, BATCH = 2000, 5, 3000, 128
RESULTS = Path(__file__).parent / "results" / "active_learning.csv"
DOUBTS: dict[str, dict[str, Callable[[Tensor], Tensor] | None]] = {
    "softmax": {"random": None, "confidence": lambda logits: -slova.log_softmax(logits).amax(1)},
    "ova": {
        "random": None,
        "confidence": lambda logits: -slova.log_slova(logits).amax(1),
        "largest sigmoid": lambda logits: -logits.amax(1),
        "P(none)": slova.log_none,
        "P(several)": slova.log_several,
    },
}


def main() -> None:
    folder, seeds = Path(sys.argv[1]), [int(seed) for seed in sys.argv[2:]] or list(range(5))
    execution = Execution()
    training, test = (data.load(f"cifar10-{part}", folder=folder) for part in ("train", "test"))
    sets = [tensor.to(execution.device) for split in (training, test) for tensor in (split.images, split.labels)]
    for seed in seeds:
        for name in DOUBTS:
            found = pd.read_csv(RESULTS) if RESULTS.exists() else pd.DataFrame(columns=["seed", "network"])
            if not ((found["seed"] == seed) & (found["network"] == name)).any():
                new = pd.DataFrame({"seed": seed, "network": name, **row} for row in rows(name, seed, sets, execution))
                with atomic_path(RESULTS) as temporary:
                    pd.concat([found, new]).to_csv(temporary, index=False, float_format="%.5g")


def rows(name: str, seed: int, sets: list[Tensor], execution: Execution) -> Iterator[dict[str, object]]:
    images, labels, test, truth = sets
    order = torch.randperm(len(labels), generator=torch.Generator().manual_seed(seed)).to(labels.device)
    first = order[:STEP]
    start = trained(name, images[first], labels[first], seed, execution)
    for chosen_by, doubt in DOUBTS[name].items():
        network, known, pool = start, first, order[STEP:]
        for step in range(ROUNDS):
            if step:
                if doubt is not None:
                    pool = pool[doubt(logits(network, images[pool])).argsort(descending=True)]
                known, pool = torch.cat([known, pool[:STEP]]), pool[STEP:]
                network = trained(name, images[known], labels[known], seed, execution)
            accuracy = (logits(network, test).argmax(1) == truth).float().mean().item()
            yield {"chosen_by": chosen_by, "labels": len(known), "accuracy": accuracy}
            print(name, seed, chosen_by, len(known), f"{accuracy:.4f}", flush=True)


def trained(name: str, images: Tensor, labels: Tensor, seed: int, execution: Execution) -> nn.Module:
    """The network and family of the comparison, at a quarter of its rate for a quarter of its batch."""
    method, dataset = methods()[name], dataset_recipe("cifar10")
    usual: Recipe = dataset.recipe(method)
    epochs = round(UPDATES / (len(labels) // BATCH))
    recipe = replace(usual, batch=BATCH, rate=usual.rate * BATCH / usual.batch, epochs=epochs)
    torch.compiler.reset()  # or it gives up compilation after some networks
    with seeded(torch.device("cpu"), seed, epoch=-1):
        network = method.network(dataset.backbone, 10)
    return train(network, method.loss, recipe, (images, labels), seed, execution)


@torch.no_grad()
def logits(network: nn.Module, images: Tensor) -> Tensor:
    return torch.cat([network(part.float() / 255) for part in images.split(5000)])


if __name__ == "__main__":
    main()
