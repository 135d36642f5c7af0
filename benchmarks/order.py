"""May a fit on degraded images correct single classes? One kind of degradation is left out of it and scored.

    python benchmarks/order.py --data FOLDER        # CIFAR-10, the folder of `slova bench run`

Networks of `bench/models`, validation images only. A fifth of the images is held out for each of the five kinds for
calibration. The default calibrator is fitted on the other images, clean and degraded by the other four kinds; single
classes are corrected where that pays on the clean ones, as in `Classifier.fit`, or never, as with `keep_order=True`.
The clean held-out images and those degraded by the fifth kind are scored.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from numpy import ndarray as Array
from scipy.special import log_softmax
from slova_bench.dataset_recipes import dataset_recipe
from slova_bench.distances import with_distances
from slova_bench.methods import methods
from slova_bench.pipeline import Bench
from slova_bench.runner import EMBEDDED, MODELS
from slova_bench.store import Store
from slova_bench.train import Execution

from slova.calibration import PosteriorCalibration
from slova.calibration.posterior import log_odds_from_log_probs
from slova.metrics import accuracy, ece, nll
from slova.vision import CALIBRATION_DEGRADATIONS, degrade
from slova.vision.shift_aware import DEGRADED_WEIGHT

CLASSES = 10
NETWORKS = (*(("slova_image", seed) for seed in (1, 2, 3, 0, 4)), ("softmax_augmented", 0))  # method and seed
ORDERS: tuple[Literal["auto", "keep"], ...] = ("auto", "keep")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="folder of the images")
    parser.add_argument("--results", type=Path, default=Path(__file__).parent / "results" / "order.csv")
    options = parser.parse_args()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    bench = Bench(dataset_recipe("cifar10"), Store(".slova", MODELS, EMBEDDED), Execution(device=device), options.data)
    rows: list[dict[str, Any]] = []
    for name, seed in NETWORKS:
        rows += measured(bench, name, seed)
        with options.results.open("w", newline="") as file:  # after each network, so that none is lost
            writer = csv.DictWriter(file, rows[0].keys(), lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)


def measured(bench: Bench, name: str, seed: int) -> Iterator[dict[str, Any]]:
    trained = bench.trained(replace(methods()[name], adapt=None), seed)
    network = with_distances(trained.networks[0], bench)
    trained = replace(trained, make=[lambda: network])
    images, labels = bench.validation.images.float() / 255, bench.validation.labels.numpy()
    clean = trained.outputs(images).logits[0]
    changed = [trained.outputs(degrade(images, kinds=(kind,))).logits[0] for kind in CALIBRATION_DEGRADATIONS]
    for number, kind in enumerate(CALIBRATION_DEGRADATIONS):
        seen = np.arange(len(labels)) % len(changed) != number
        others = [one[seen] for one in changed if one is not changed[number]]
        for order in ORDERS:
            fitted, part = fit(clean[seen], others, labels[seen], order, softmax="softmax" in name)
            for test, outputs in (("clean", clean), (kind.__name__, changed[number])):
                about = {"network": name, "seed": seed, "order": order, "left_out": kind.__name__, "test": test}
                yield about | {"part": part} | scores(fitted(outputs[~seen]), labels[~seen])
        print(name, seed, kind.__name__, flush=True)


def fit(
    clean: Array, changed: list[Array], labels: Array, order: Literal["auto", "keep"], *, softmax: bool
) -> tuple[Callable[[Array], Array], str]:
    """The log-probabilities of classes after a fit to these images, and to each of them by one of the other kinds; and
    the part of the model that the fit has taken."""

    def log_odds(outputs: Array) -> Array:
        logits = outputs[:, :CLASSES]  # of one-vs-all networks these are log-odds
        return log_odds_from_log_probs(log_softmax(logits, axis=1)) if softmax else logits

    count = len(labels)
    which = np.random.default_rng(0).integers(0, len(changed), count)
    outputs = np.concatenate([clean, np.stack(changed)[which, np.arange(count)]]).astype(np.float64)
    calibrator = PosteriorCalibration.fit(
        log_odds(outputs),
        np.tile(labels, 2),
        distances=outputs[:, CLASSES:],
        weight=np.repeat([1.0, DEGRADED_WEIGHT], count),
        groups=np.tile(np.arange(count), 2),
        own=np.repeat([1, 0], count),
        order=order,
    )

    def log_probs(new: Array) -> Array:
        return calibrator(log_odds(new.astype(np.float64)), new[:, CLASSES:])[:, :CLASSES]

    return log_probs, calibrator.part


def scores(log_probs: Array, labels: Array) -> dict[str, float]:
    probs = np.exp(log_probs)
    found = {"accuracy": accuracy(probs, labels), "ece": ece(probs, labels), "nll": nll(log_probs, labels)}
    return {name: round(float(value), 5) for name, value in found.items()}


if __name__ == "__main__":
    main()
