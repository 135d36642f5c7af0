"""Does ReAct lose accuracy because of its threshold? By the images that it is taken from, and by its percentile.

    python benchmarks/react.py --data FOLDER        # the folder of `slova bench run`

Softmax networks of `bench/models`, seed 0. The threshold is a percentile of the features of 2,000 training images, as
in the comparison, or of 2,000 test images, as in the authors' code.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
from slova_bench import data, zoo
from torch import Tensor, nn

IMAGES = 2000
PERCENTILES = (80, 85, 90, 92.5, 95, 97.5, 99, 100)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="folder of the images")
    parser.add_argument("--results", type=Path, default=Path(__file__).parent / "results" / "react.csv")
    options = parser.parse_args()
    with options.results.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("on", "seed", "images", "percentile", "threshold", "error", "mmc"))
        for on in ("cifar10", "cifar100", "svhn"):
            writer.writerows((on, 0, *row) for row in measured(on, options.data))


@torch.no_grad()
def measured(on: str, folder: Path | None) -> Iterator[tuple[object, ...]]:
    network = zoo.load(f"softmax-{on}")
    training, test = (data.load(f"{on}-{part}", folder=folder) for part in ("train", "test"))
    features = features_of(network, test.images)
    sources = {"training": features_of(network, training.images[:IMAGES]), "test": features[:IMAGES]}
    for images, source in sources.items():
        for percentile in PERCENTILES:
            threshold = float(np.percentile(source.numpy(), percentile))
            probs = network[-1](features.clamp(max=threshold)).softmax(dim=-1)
            error = (probs.argmax(dim=-1) != test.labels).double().mean()
            found = (threshold, error, probs.amax(dim=-1).double().mean())
            yield images, percentile, *(f"{float(value):.5f}" for value in found)


def features_of(network: nn.Sequential, images: Tensor) -> Tensor:
    return torch.cat([network[:-1](part.float() / 255) for part in images.split(100)])


if __name__ == "__main__":
    main()
