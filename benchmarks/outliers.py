"""Which outliers should a one-vs-all network see in training? Each mix trains one network, which is judged
by validation images and by outliers that nobody trains on; test sets are used only with --test.

python benchmarks/outliers.py                                       # all of MIXES, 20 epochs each
python benchmarks/outliers.py 20 plain mix without_low_pass …       # some of them
python benchmarks/outliers.py 100 exposed --test                    # real outliers: CIFAR-100's training images

Prints one line per network, MMC and AUROC for each kind of outlier, and appends it as JSON to outliers.jsonl. CIFAR-10,
one seed; 20 epochs take 11 seconds on a large GPU, and hours without one.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import torch
from numpy import ndarray as Array
from slova_bench import data
from slova_bench.dataset_recipes import dataset_recipe
from slova_bench.methods import methods
from slova_bench.pipeline import Bench, mean_readout
from slova_bench.stable import stable
from slova_bench.store import Store
from slova_bench.test_sets import ood_sets
from slova_bench.train import Execution, seeded
from torch import Generator, Tensor, nn
from torch.nn import functional

from slova import ova_loss
from slova.calibration import ExponentialCalibration
from slova.metrics import auroc, ece, nll
from slova.vision import SELECTION_OUTLIERS
from slova.vision.outliers import (
    TRAINING_OUTLIERS,
    Outlier,
    add_outliers,
    average,
    collage,
    low_pass,
    sample_from,
    shuffle_patches,
    uniform,
    zoom,
)

KINDS = (*TRAINING_OUTLIERS, uniform)
VIRTUAL = (average, shuffle_patches, zoom, collage)
MIXES: dict[str, tuple[tuple[Outlier, ...], float]] = {
    "plain": ((), 0.0),
    "mix": (TRAINING_OUTLIERS, 0.5),
    "all": (KINDS, 0.5),
    "all, twice as many": (KINDS, 1.0),
    "low_pass": ((low_pass,), 0.5),
    "virtual": (VIRTUAL, 0.5),
    "low_pass and virtual": ((low_pass, *VIRTUAL), 0.5),
    "half low_pass, half virtual": ((low_pass,) * len(VIRTUAL) + VIRTUAL, 0.5),
    **{f"without_{kind.__name__}": (tuple(k for k in KINDS if k is not kind), 0.5) for kind in TRAINING_OUTLIERS},
    "exposed": ((), 0.5),
    "mix and exposed": (TRAINING_OUTLIERS, 0.5),
}
SIDE, COUNT = 32, 1500


@stable("outlier_mix_loss")
@dataclass(frozen=True)
class Loss:
    """The one-vs-all loss with the outliers of a mix."""

    mix: str

    def __call__(self, network: nn.Module, images: Tensor, labels: Tensor, rows: int) -> Tensor:
        kinds, share = MIXES[self.mix]
        if "exposed" in self.mix:
            kinds = (*kinds, *[unrelated(images.device)] * max(1, len(kinds)))
        images, labels = add_outliers(images, labels, share=share, kinds=kinds)
        return ova_loss(network(images), labels)


@cache
def unrelated(device: torch.device) -> Outlier:
    return sample_from(data.load("cifar100-train").images.to(device))


def main() -> None:
    epochs, *names = [word for word in sys.argv[1:] if word != "--test"] or ["20"]
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    bench = Bench(dataset_recipe("cifar10"), Store(".slova"), Execution(device=device))
    outside = outliers(bench.validation.images[:COUNT].float() / 255)
    for name in names or MIXES:
        print(json.dumps(line := measured(bench, name, int(epochs), outside)), flush=True)
        with open("outliers.jsonl", "a") as file:
            file.write(json.dumps(line) + "\n")


def measured(bench: Bench, mix: str, epochs: int, outside: dict[str, Tensor]) -> dict[str, object]:
    recipe = replace(bench.dataset.recipes["ova"], epochs=epochs)
    method = replace(methods()["slova_raw"], loss=Loss(mix), recipe=recipe)
    started = time.perf_counter()
    trained = bench.trained(method, 0)
    seconds = time.perf_counter() - started

    def log_probs(images: Tensor) -> Array:
        return mean_readout(method.head, trained.outputs(images).logits).log_probs

    inside, labels = log_probs(bench.validation.images), bench.validation.labels.numpy()
    calibrated = ExponentialCalibration.fit(inside, labels)(inside)
    line: dict[str, object] = {"mix": mix, "epochs": epochs, "seconds": round(seconds, 1)}
    line |= {"accuracy": float((inside.argmax(-1) == labels).mean()), "mmc": mmc(inside)}
    line |= {"ece_raw": round(ece(np.exp(inside), labels), 4), "nll": round(nll(calibrated, labels), 4)}
    for kind, images in outside.items():
        found = log_probs(images)
        line[kind] = (mmc(found), round(auroc(inside.max(-1), found.max(-1)), 3))
    return line | (tested(bench, log_probs) if "--test" in sys.argv else {})


def tested(bench: Bench, log_probs: Callable[[Tensor], Array]) -> dict[str, object]:
    """Accuracy on the test set, and the OOD sets of the comparison."""
    clean, *others = ood_sets(bench)
    images, labels = clean.load(bench)
    inside = log_probs(images)
    line: dict[str, object] = {"test accuracy": float((inside.argmax(-1) == labels.numpy()).mean())}
    for test in others:
        found = log_probs(test.load(bench)[0])
        line[test.test] = (mmc(found), round(auroc(inside.max(-1), found.max(-1)), 3))
    return line


def mmc(log_probs: Array) -> float:
    return round(float(np.exp(log_probs.max(-1)).mean()), 3)


def outliers(images: Tensor) -> dict[str, Tensor]:
    """Kinds that are in no mix, and those that are, made from validation images."""
    with seeded(torch.device("cpu"), 7):
        made = {kind.__name__: kind(images, None) for kind in (*SELECTION_OUTLIERS, *KINDS)}
    return {"digits": digits(Generator().manual_seed(1)), **made}


def digits(generator: Generator) -> Tensor:
    """The digits that come with scikit-learn, enlarged, in two random colours."""
    shape = functional.interpolate(
        data.load("digits-train").images[:COUNT].float() / 255, size=(SIDE, SIDE), mode="bilinear"
    )
    ink, paper = (torch.rand(len(shape), 3, 1, 1, generator=generator) for _ in range(2))
    return ink * shape + paper * (1 - shape)


if __name__ == "__main__":
    main()
