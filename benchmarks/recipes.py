"""Which training recipe for images? Each variant trains one network on CIFAR-10, which is judged by validation images,
by degradations and outliers that neither training nor calibration use. Test sets are not used.

    python benchmarks/recipes.py                        # all of VARIANTS, 25 epochs each
    python benchmarks/recipes.py 25 recipe …            # some of them
    python benchmarks/recipes.py method .slova slova_image …      # networks of the comparison, seed 0, from its store

The default calibrator is fitted on the first half of the validation images: clean, degraded and outliers, by the kinds
for calibration. The second half is scored: clean, and by the kinds for selection; "temperature" are the scores with a
temperature that is fitted on clean images. Prints one line of JSON per network, and appends it to recipes.jsonl. A
network takes about 15 seconds on a large GPU.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy import ndarray as Array
from slova_bench.calibrate import WEIGHTS, class_temperature, posterior
from slova_bench.dataset_recipes import dataset_recipe
from slova_bench.distances import with_distances
from slova_bench.method import CalibrationRows
from slova_bench.methods import methods
from slova_bench.pipeline import Bench, Trained
from slova_bench.stable import stable
from slova_bench.store import Store
from slova_bench.train import Execution, seeded
from torch import Tensor, nn
from torch.nn import functional

from slova import NONE, ova_loss
from slova.metrics import accuracy, auroc, brier, ece, nll
from slova.vision import (
    CALIBRATION_DEGRADATIONS,
    CALIBRATION_OUTLIERS,
    SELECTION_DEGRADATIONS,
    SELECTION_OUTLIERS,
    TRAINING_OUTLIERS,
    augment,
    degrade,
)
from slova.vision.mixtures import mix_fractals, mix_operations
from slova.vision.outliers import average, collage, zoom

NEAR = (average, collage, zoom)
MIXING = {"cross_entropy": 1.0, "mixed": 0.25}  # of the images that have a class: 1.5 in `ova_loss`
VARIANTS: dict[str, dict[str, Any]] = {
    "recipe": {},
    "with cross-entropy": {"cross_entropy": 1.0},
    "averaged weights": {"ema": 0.999},
    "degraded 0.75": {"degraded": 0.75},
    "outliers 0.25": {"outliers": 0.25},
    "outliers 1": {"outliers": 1.0},
    "more near outliers": {"outlier_kinds": (*TRAINING_OUTLIERS, *NEAR)},
    "no outliers": {"outliers": 0.0},
    "no degradations": {"degraded": 0.0},
    "image recipe": {"cross_entropy": 1.5},
    "image recipe, outliers 0.25": {"cross_entropy": 1.5, "outliers": 0.25},
    "image recipe, cross-entropy 4": {"cross_entropy": 4.0},
    "image recipe, cross-entropy 4, outliers 0.25": {"cross_entropy": 4.0, "outliers": 0.25},
    "image recipe, rates of softmax": {"cross_entropy": 1.5, "rate": 0.235, "weight_decay": 6.51e-4},
    "image recipe, decay 4e-4": {"cross_entropy": 1.5, "weight_decay": 4e-4},
    "image recipe, decay 2e-4": {"cross_entropy": 1.5, "weight_decay": 2e-4},
    "with mixing": MIXING,
    "with mixing, half": MIXING | {"degraded": 0.25, "mixed": 0.5},
    "with mixing, three quarters": MIXING | {"degraded": 0.25, "mixed": 0.75},
    "with mixing, operations alone": MIXING | {"mixtures": (mix_operations,)},
    "with mixing, fractals alone": MIXING | {"mixtures": (mix_fractals,)},
    "with mixing, outliers 0.25": MIXING | {"outliers": 0.25},
    "with mixing, outliers in evaluation mode": MIXING | {"separate": True},
    "with mixing, consistency": MIXING | {"consistency": 4.0},
    "softmax, with mixing": {"softmax": True, "mixed": 0.25, "outliers": 0.0},
    "softmax": {"softmax": True, "outliers": 0.0},
    "softmax, decay 4e-4": {"softmax": True, "outliers": 0.0, "weight_decay": 4e-4},
    "softmax, decay 2e-4": {"softmax": True, "outliers": 0.0, "weight_decay": 2e-4},
}
METRICS = ("accuracy", "ece", "nll", "brier")
TRAINING = ("ema", "rate", "weight_decay")  # what belongs to the recipe of a training, not to its loss


@stable("recipe_variant_loss")
@dataclass(frozen=True)
class Loss:
    """One-vs-all with the augmentation of a variant, and cross-entropy of the images that have a class."""

    variant: str

    def __call__(self, network: nn.Module, images: Tensor, labels: Tensor, rows: int) -> Tensor:
        options = {name: value for name, value in VARIANTS[self.variant].items() if name not in TRAINING}
        weight, softmax = options.pop("cross_entropy", 0.0), options.pop("softmax", False)
        separate, consistency = options.pop("separate", False), options.pop("consistency", 0.0)
        clean = images
        images, labels = augment(images, labels, **({"mixed": 0.0} | options))
        logits = _separately(network, images, len(clean)) if separate else network(images).float()
        if softmax:
            return functional.cross_entropy(logits, labels)
        loss = ova_loss(logits, labels)
        if weight:
            loss = loss + weight * functional.cross_entropy(logits, labels, ignore_index=int(NONE))
        if consistency:
            loss = loss + consistency * _divergence(network(clean).float(), logits[: len(clean)])
        return loss


def _separately(network: nn.Module, images: Tensor, count: int) -> Tensor:
    """Logits of images, and of outliers with the statistics of batch norm that images have left."""
    known = network(images[:count]).float()
    network.eval()
    unknown = network(images[count:]).float()
    network.train()
    return torch.cat([known, unknown])


def _divergence(*logits: Tensor) -> Tensor:
    """The Jensen-Shannon divergence of the predictions, in the mean over rows."""
    probs = torch.stack(logits).softmax(-1)
    middle = probs.mean(0).clamp(1e-7, 1).log()
    return (probs * (torch.stack(logits).log_softmax(-1) - middle)).sum(-1).mean()


def main() -> None:
    epochs, *names = sys.argv[1:] or ["25"]
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    bench = Bench(dataset_recipe("cifar10"), Store(".slova"), Execution(device=device))
    if epochs == "method":  # networks of the comparison, from the folder of its store
        folder, *names = names
        bench = replace(bench, store=Store(folder))
        for name in names:
            line = {"method": name} | judged(bench, bench.trained(replace(methods()[name], adapt=None), 0))
            print(json.dumps(line), flush=True)
        return
    for name in names or VARIANTS:
        print(json.dumps(line := measured(bench, name, int(epochs))), flush=True)
        with open("recipes.jsonl", "a") as file:
            file.write(json.dumps(line) + "\n")


def measured(bench: Bench, variant: str, epochs: int) -> dict[str, object]:
    family = "softmax" if "softmax" in VARIANTS[variant] else "ova"
    given = {name: value for name, value in VARIANTS[variant].items() if name in TRAINING}
    recipe = replace(bench.dataset.recipes[family], epochs=epochs, **given)
    method = replace(methods()[family], loss=Loss(variant), recipe=recipe)
    started = time.perf_counter()
    trained = bench.trained(method, 0)
    list(trained.networks)  # trained now
    line: dict[str, object] = {"variant": variant, "epochs": epochs, "seconds": round(time.perf_counter() - started, 1)}
    return line | judged(bench, trained, head="softmax" if family == "softmax" else "slova")


def judged(bench: Bench, trained: Trained, head: str = "slova") -> dict[str, object]:
    images, labels = bench.validation.images.float() / 255, bench.validation.labels.numpy()
    half = len(images) // 2
    network = with_distances(trained.networks[0], bench)
    trained = replace(trained, make=[lambda: network])
    parts = fitted_on(images[:half], labels[:half])
    rows = CalibrationRows(
        np.concatenate([trained.outputs(part).logits for part, _, _ in parts], axis=1),
        np.concatenate([truth for _, truth, _ in parts]),
        *(
            np.repeat(column, [len(truth) for _, truth, _ in parts])
            for column in zip(*(part[2] for part in parts), strict=True)
        ),
        np.concatenate([np.arange(len(truth)) for _, truth, _ in parts]),
        10,
    )
    readout = posterior(rows, head=head)
    known, truth = trained.outputs(images[half:]).logits, labels[half:]
    clean = readout(known)
    changed = {
        kind.__name__: trained.outputs(degrade(images[half:], seed=1, kinds=(kind,))).logits
        for kind in SELECTION_DEGRADATIONS
    }
    line: dict[str, object] = {}
    fitted = {"": readout, " by temperature": class_temperature(_first(rows, half))}
    for name, one in fitted.items():
        line[f"clean{name}"] = scores(one(known).log_probs, truth)
        shifted = {kind: scores(one(outputs).log_probs, truth) for kind, outputs in changed.items()}
        line[f"shifted{name}"] = {metric: mean([each[metric] for each in shifted.values()]) for metric in METRICS}
        line[f"by kind{name}"] = shifted
    with seeded(torch.device("cpu"), 7):
        outside = {kind.__name__: readout(trained.outputs(kind(images[half:])).logits) for kind in SELECTION_OUTLIERS}
    ranked = {name: round(auroc(-clean.log_none, -found.log_none), 4) for name, found in outside.items()}
    return line | {"auroc": mean(list(ranked.values())), "outliers": ranked}


def _first(rows: CalibrationRows, count: int) -> CalibrationRows:
    """The clean images, which come first."""
    each = [part[:count] for part in (rows.labels, rows.weight, rows.none_weight, rows.groups)]
    return CalibrationRows(rows.outputs[:, :count], *each, rows.classes)


def fitted_on(images: Tensor, labels: Array) -> list[tuple[Tensor, Array, tuple[float, float]]]:
    """Clean and degraded images and outliers, with labels and weights."""
    with seeded(torch.device("cpu"), 3):
        shares = images.tensor_split(len(CALIBRATION_OUTLIERS))
        outliers = torch.cat([kind(part) for kind, part in zip(CALIBRATION_OUTLIERS, shares, strict=True)])
    degraded = degrade(images, kinds=CALIBRATION_DEGRADATIONS)
    none = np.full(len(outliers), NONE)
    given = ((images, labels), (degraded, labels), (outliers, none))
    return [(*pair, weights) for pair, weights in zip(given, WEIGHTS.values(), strict=True)]


def scores(log_probs: Array, labels: Array) -> Mapping[str, float]:
    probs = np.exp(log_probs)
    found = {"accuracy": accuracy(probs, labels), "ece": ece(probs, labels), "nll": nll(log_probs, labels)}
    return {name: round(float(value), 4) for name, value in (found | {"brier": brier(probs, labels)}).items()}


def mean(values: list[float]) -> float:
    return round(float(np.mean(values)), 4)


if __name__ == "__main__":
    main()
