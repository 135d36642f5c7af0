"""May a fit on degraded images correct single classes? One kind of degradation is left out of it and scored.

    python benchmarks/order.py --data FOLDER        # CIFAR-10, the folder of `slova bench run`

Networks of `bench/models`, seed 0, validation images only. A fifth of the images is held out for each of the five
kinds for calibration. The default calibrator is fitted on the other images, clean and degraded by the other four kinds,
with the top class kept or free; the clean held-out images and those degraded by the fifth kind are scored.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from numpy import ndarray as Array
from slova_bench.calibrate import posterior
from slova_bench.dataset_recipes import dataset_recipe
from slova_bench.distances import with_distances
from slova_bench.method import CalibrationRows
from slova_bench.methods import methods
from slova_bench.pipeline import Bench
from slova_bench.runner import EMBEDDED, MODELS
from slova_bench.store import Store
from slova_bench.train import Execution

from slova.metrics import accuracy, ece, nll
from slova.vision import CALIBRATION_DEGRADATIONS, degrade
from slova.vision.shift_aware import DEGRADED_WEIGHT

NETWORKS = {"softmax": "softmax", "ova": "slova", "slova_none": "slova", "slova_image": "slova"}  # and their heads
ORDERS: tuple[Literal["auto", "keep"], ...] = ("auto", "keep")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="folder of the images")
    parser.add_argument("--results", type=Path, default=Path(__file__).parent / "results" / "order.csv")
    options = parser.parse_args()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    bench = Bench(dataset_recipe("cifar10"), Store(".slova", MODELS, EMBEDDED), Execution(device=device), options.data)
    rows = [row for name in NETWORKS for row in measured(bench, name)]
    with options.results.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys(), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def measured(bench: Bench, name: str) -> Iterator[dict[str, Any]]:
    trained = bench.trained(replace(methods()[name], adapt=None), 0)
    trained = replace(trained, networks=[with_distances(trained.networks[0], bench)])
    images, labels = bench.validation.images.float() / 255, bench.validation.labels.numpy()
    clean = trained.outputs(images).logits
    changed = [trained.outputs(degrade(images, kinds=(kind,))).logits for kind in CALIBRATION_DEGRADATIONS]
    for number, kind in enumerate(CALIBRATION_DEGRADATIONS):
        seen = np.arange(len(labels)) % len(changed) != number
        rows = fit_rows(clean, [one for one in changed if one is not changed[number]], labels, np.flatnonzero(seen))
        for order in ORDERS:
            readout = posterior(rows, head=NETWORKS[name], order=order)
            for test, outputs in (("clean", clean), (kind.__name__, changed[number])):
                log_probs = readout(outputs[:, ~seen]).log_probs
                yield {"network": name, "order": order, "left_out": kind.__name__, "test": test} | scores(
                    log_probs, labels[~seen]
                )
        print(name, kind.__name__, flush=True)


def fit_rows(clean: Array, changed: list[Array], labels: Array, images: Array) -> CalibrationRows:
    """These images, and each of them by one of the other kinds."""
    which = np.random.default_rng(0).integers(0, len(changed), len(images))
    degraded = np.stack(changed)[which, :, images].swapaxes(0, 1)
    weight = np.repeat([1.0, DEGRADED_WEIGHT], len(images))
    outputs = np.concatenate([clean[:, images], degraded], axis=1)
    return CalibrationRows(outputs, np.tile(labels[images], 2), weight, weight, np.tile(images, 2), 10)


def scores(log_probs: Array, labels: Array) -> dict[str, float]:
    probs = np.exp(log_probs)
    found = {"accuracy": accuracy(probs, labels), "ece": ece(probs, labels), "nll": nll(log_probs, labels)}
    return {name: round(float(value), 5) for name, value in found.items()}


if __name__ == "__main__":
    main()
