"""How much of a trained one-vs-all network does a retrofitted softmax network recover, without training data and with a
new last layer? The networks, shifts and OOD sets of the comparison.

python benchmarks/retrofit.py digits 5
python benchmarks/retrofit.py cifar10 5 2000    # five seeds, so many images of every set; long without a GPU

Rows: benchmarks/results/retrofit.csv; those of the other data set are kept.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import torch
from numpy import ndarray as Array
from slova_bench.dataset_recipes import dataset_recipe
from slova_bench.labels import PAPER_SHIFTS
from slova_bench.methods import find
from slova_bench.networks import last_linear
from slova_bench.pipeline import Bench, Trained
from slova_bench.runner import EMBEDDED, MODELS
from slova_bench.store import Store
from slova_bench.test_sets import TestSet, ood_sets, shifted_sets
from slova_bench.train import Execution
from torch import Tensor, nn

from slova import ova_loss
from slova.calibration import AffineCalibration, ExponentialCalibration, TemperatureScaling
from slova.heads import log_slova, log_softmax
from slova.metrics import accuracy, auroc, ece
from slova.retrofit import features_of, log_odds, refit

Read = Callable[["Said"], Array]  # what the networks said of a set, to log-probabilities (N, K)
NAMES = ("accuracy", "ece", "ece_q25", "ece_q50", "ece_q75", "mmc", "auroc")
RESULTS = Path(__file__).parent / "results" / "retrofit.csv"
DECAYS = (1e-2, 1e-3, 1e-4, 0.0)


class Said(NamedTuple):
    """Logits and features of the softmax network, and logits of the one-vs-all network."""

    logits: Array
    features: Array
    own: Array


def main() -> None:
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    store = Store(".slova", MODELS, EMBEDDED)
    limit = int(sys.argv[3]) if len(sys.argv) > 3 else None
    bench = Bench(dataset_recipe(sys.argv[1]), store, Execution(device), limit=limit)
    found = pd.read_csv(RESULTS) if RESULTS.exists() else pd.DataFrame(columns=["data"])
    found = found[found["data"] != sys.argv[1]]
    for seed in range(int(sys.argv[2])):
        table = measured(bench, seed)
        given = {"data": sys.argv[1], "images": limit, "seed": seed}
        new = [given | {"method": name, **numbers} for name, numbers in table.items()]
        found = pd.concat([found, pd.DataFrame(new)])
        found.to_csv(RESULTS, index=False, float_format="%.5g")
        print(pd.DataFrame(new).to_string(), flush=True)


def measured(bench: Bench, seed: int) -> dict[str, dict[str, float]]:
    softmax, own = (bench.trained(method, seed) for method in find(["softmax", "ova"]))

    def ask(images: Tensor) -> Said:
        (logits,), features = softmax.outputs(images)
        return Said(logits, features, own.outputs(images).logits[0])

    validation = replace(bench, limit=None).validation
    known, labels = ask(validation.images), validation.labels.numpy()
    affine = {name: AffineCalibration.fit(level(known.logits), labels) for name, level in LEVELS.items()}
    reads: dict[str, Read] = {
        "softmax": lambda said: log_softmax(said.logits),
        "temperature": fitted(lambda said: log_softmax(said.logits), TemperatureScaling.fit, known, labels),
        **{
            f"rescaled {name}": fitted(rescaled(affine[name], level), EXPONENTIAL, known, labels)
            for name, level in LEVELS.items()
        },
        **{
            f"new last layer, decay {decay:g}": fitted(layer, EXPONENTIAL, known, labels)
            for decay, layer in zip(DECAYS, renewed(bench, softmax), strict=True)
        },
        "trained one-vs-all": fitted(lambda said: log_slova(said.own), EXPONENTIAL, known, labels),
    }
    found = scores(bench, ask, reads)
    for name, level in LEVELS.items():
        moved = torch.from_numpy(affine[name](level(known.logits)))
        loss = float(ova_loss(moved, torch.from_numpy(labels)))
        found[f"rescaled {name}"] |= {"loss": loss, "scale": affine[name].scale, "offset": affine[name].offset}
    return found


EXPONENTIAL = ExponentialCalibration.fit
LEVELS: dict[str, Callable[[Array], Array]] = {  # of a row of logits, which softmax leaves open
    "logits": lambda logits: logits,
    "centred logits": lambda logits: logits - logits.mean(-1, keepdims=True),
    "log-probabilities": log_softmax,
    "log-odds": log_odds,
}


def rescaled(affine: AffineCalibration, level: Callable[[Array], Array]) -> Read:
    return lambda said: log_slova(affine(level(said.logits)))


def fitted(read: Read, fit: Callable[[Array, Array], Callable[[Array], Array]], known: Said, labels: Array) -> Read:
    """The readout, calibrated on the validation set."""
    found = fit(read(known), labels)
    return lambda said: found(read(said))


def renewed(bench: Bench, trained: Trained) -> list[Read]:
    """Last layers fitted one-vs-all to the features of the training images."""
    (network,), split = trained.networks, bench.training
    last = last_linear(network)
    batches = zip(torch.split(split.images, 1000), torch.split(split.labels, 1000), strict=True)
    features, labels = features_of(network, last, ((images.float() / 255, truth) for images, truth in batches))
    return [read_by(refit(last, features, labels, decay=decay).cpu()) for decay in DECAYS]


def read_by(layer: nn.Module) -> Read:
    @torch.no_grad()
    def read(said: Said) -> Array:
        return log_slova(layer(torch.from_numpy(said.features)).numpy())

    return read


def scores(bench: Bench, ask: Callable[[Tensor], Said], reads: dict[str, Read]) -> dict[str, dict[str, float]]:
    """The metrics of every readout; the networks run once per set."""

    def probs(test: TestSet) -> tuple[list[Array], Array]:
        images, labels = test.load(bench)
        said = ask(images)
        return [np.exp(read(said)) for read in reads.values()], labels.numpy()

    kinds = set(PAPER_SHIFTS) if bench.dataset.name != "digits" else {test.shift for test in shifted_sets(bench)}
    (clean, truth), *shifted = (probs(test) for test in shifted_sets(bench) if test.shift in {"", *kinds})
    errors = np.array([[ece(one, labels) for one in said] for said, labels in [(clean, truth), *shifted]])
    outside = ood_sets(bench)[1:]
    real = [test for test in outside if not test.is_synthetic] or outside  # noise is no part of a mean of real images
    far = [[one.max(1) for one in probs(test)[0]] for test in real]
    table = [[accuracy(one, truth) for one in clean], errors[0], *np.percentile(errors, [25, 50, 75], axis=0)]
    table += [np.mean([[one.mean() for one in said] for said in far], axis=0)]
    table += [np.mean([[auroc(i.max(1), o) for i, o in zip(clean, said, strict=True)] for said in far], axis=0)]
    return {
        name: dict(zip(NAMES, numbers, strict=True)) for name, numbers in zip(reads, np.array(table).T, strict=True)
    }


if __name__ == "__main__":
    warnings.simplefilter("ignore")  # small validation sets
    main()
