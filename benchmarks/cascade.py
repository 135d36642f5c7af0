"""Conditional computation: a small network answers what it is sure of and hands on the rest to a large one.

    python benchmarks/cascade.py STORE

STORE is a store of `slova bench run recipes` with the logits of ResNet-20 and ResNet-18 (`--preset resnet18`), so
neither images nor a GPU are needed. Handed on are the images with the lowest calibrated confidence: a share of each
test set, or those below the threshold that hands on this share of the validation images. Cost: multiply-adds per
image. Rows: benchmarks/results/cascade.csv.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
from slova_bench.calibrate import readout_of
from slova_bench.cost import cost_of
from slova_bench.dataset_recipes import dataset_recipe
from slova_bench.labels import PAPER_SHIFTS
from slova_bench.method import Method
from slova_bench.methods import methods
from slova_bench.pipeline import Bench
from slova_bench.presets import preset
from slova_bench.store import Store
from slova_bench.test_sets import TestSet, shifted_sets

METHODS, SEEDS, LARGE_SEED = ("softmax_augmented", "slova_image"), (0, 1, 2), 0
SHARES = (0.0, 0.05, 0.1, 0.2, 0.3, 0.5, 1.0)
RESULTS = Path(__file__).parent / "results" / "cascade.csv"


def main() -> None:
    recipe = dataset_recipe("cifar10")
    bench = Bench(recipe, Store(Path(sys.argv[1])))
    found = []
    for name in METHODS:
        small = methods()[name]
        (large,) = preset([small], "resnet18", experiment="recipes", dataset=recipe)
        sure = Answers(bench, large, LARGE_SEED)
        for seed in SEEDS:
            found += list(rows(Answers(bench, small, seed), sure, name, seed))
    pd.DataFrame(found).to_csv(RESULTS, index=False, float_format="%.5g")


class Answers:
    """Confidence and hits of one network on test sets."""

    def __init__(self, bench: Bench, method: Method, seed: int) -> None:
        self.bench, self.trained = bench, bench.trained(method, seed)
        self.readout = readout_of(method, bench, self.trained)
        self.work = cost_of(method).multiply_adds
        self.has_none = method.score == "none"

    def of(self, test: TestSet | None) -> tuple[np.ndarray, np.ndarray]:
        """On a test set, or on the validation images."""
        if test is None:
            outputs, labels = self.bench.validation_logits(self.trained, 0.0)
        else:
            found, labels = self.bench.logits(self.trained, test, features=False)
            outputs = found.logits
        readout = self.readout(outputs)
        confidence = np.exp(readout.log_probs).max(1) * (1 - np.exp(readout.log_none) * self.has_none)
        return confidence, readout.log_probs.argmax(1) == labels


def rows(small: Answers, large: Answers, name: str, seed: int) -> Iterator[dict[str, object]]:
    known, _ = small.of(None)
    groups: dict[str, list[TestSet]] = {}
    for test in shifted_sets(small.bench):
        group = "clean" if not test.shift else "sixteen shifts" if test.shift in PAPER_SHIFTS else "held-out shifts"
        groups.setdefault(group, []).append(test)
    for group, tests in groups.items():
        pairs = [(small.of(test), large.of(test)) for test in tests]
        for share in SHARES:
            for rule in ("share", "threshold"):
                below = np.quantile(known, share) if 0 < share < 1 else np.inf * (1 if share else -1)
                limits = [below if rule == "threshold" else None for _ in pairs]
                found = [handed(*pair, share, limit) for pair, limit in zip(pairs, limits, strict=True)]
                moved, accuracy = np.mean(found, axis=0)
                work = (small.work + moved * large.work) / 1e6
                who = {"method": name, "seed": seed, "images": group, "rule": rule, "share": share}
                yield {**who, "handed_on": moved, "accuracy": accuracy, "multiply_adds": work}


def handed(
    small: tuple[np.ndarray, np.ndarray], large: tuple[np.ndarray, np.ndarray], share: float, limit: float | None
) -> tuple[float, float]:
    """The share that is handed on, and the accuracy of the cascade."""
    confidence, hits = small
    below = confidence < limit if limit is not None else confidence.argsort().argsort() < round(share * len(confidence))
    return float(below.mean()), float(np.where(below, large[1], hits).mean())


if __name__ == "__main__":
    main()
