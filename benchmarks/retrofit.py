"""How much of a trained one-vs-all network does a retrofitted softmax network recover, without training data and with a
new last layer? The networks, shifts and OOD sets of the comparison; mean over seeds.

python benchmarks/retrofit.py digits 5
python benchmarks/retrofit.py cifar10 5 2000    # so many images of every set; requires a GPU
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np
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

from slova.calibration import AffineCalibration, ExponentialCalibration, TemperatureScaling
from slova.heads import log_slova, log_softmax
from slova.metrics import accuracy, auroc, ece
from slova.retrofit import features_of, log_odds, refit

Read = Callable[["Said"], Array]  # what the networks said of a set, to log-probabilities (N, K)
NAMES = ("accuracy", "clean ECE", "ECE q25", "ECE q50", "ECE q75", "MMC", "AUROC")
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
    tables = [measured(bench, seed) for seed in range(int(sys.argv[2]))]
    print(f"{sys.argv[1]}, {len(tables)} seeds".ljust(28), *(name.rjust(9) for name in NAMES))
    for kind in tables[0]:
        print(kind.ljust(28), *(f"{value:9.3f}" for value in np.mean([table[kind] for table in tables], axis=0)))


def measured(bench: Bench, seed: int) -> dict[str, Array]:
    softmax, own = (bench.trained(method, seed) for method in find(["softmax", "ova"]))

    def ask(images: Tensor) -> Said:
        (logits,), features = softmax.outputs(images)
        return Said(logits, features, own.outputs(images).logits[0])

    validation = replace(bench, limit=None).validation
    known, labels = ask(validation.images), validation.labels.numpy()
    affine = AffineCalibration.fit(log_odds(known.logits), labels)
    reads: dict[str, Read] = {
        "softmax": lambda said: log_softmax(said.logits),
        "temperature": fitted(lambda said: log_softmax(said.logits), TemperatureScaling.fit, known, labels),
        "rescaled log-odds": fitted(lambda said: log_slova(affine(log_odds(said.logits))), EXPONENTIAL, known, labels),
        **{
            f"new last layer, decay {decay:g}": fitted(layer, EXPONENTIAL, known, labels)
            for decay, layer in zip(DECAYS, renewed(bench, softmax), strict=True)
        },
        "trained one-vs-all": fitted(lambda said: log_slova(said.own), EXPONENTIAL, known, labels),
    }
    return scores(bench, ask, reads)


EXPONENTIAL = ExponentialCalibration.fit


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


def scores(bench: Bench, ask: Callable[[Tensor], Said], reads: dict[str, Read]) -> dict[str, Array]:
    """The metrics of every readout; the networks run once per set."""

    def probs(test: TestSet) -> tuple[list[Array], Array]:
        images, labels = test.load(bench)
        said = ask(images)
        return [np.exp(read(said)) for read in reads.values()], labels.numpy()

    kinds = set(PAPER_SHIFTS) if bench.dataset.name != "digits" else {test.shift for test in shifted_sets(bench)}
    (clean, truth), *shifted = (probs(test) for test in shifted_sets(bench) if test.shift in {"", *kinds})
    errors = np.array([[ece(one, labels) for one in said] for said, labels in [(clean, truth), *shifted]])
    far = [[one.max(1) for one in probs(test)[0]] for test in ood_sets(bench)[1:]]
    table = [[accuracy(one, truth) for one in clean], errors[0], *np.percentile(errors, [25, 50, 75], axis=0)]
    table += [np.mean([[one.mean() for one in said] for said in far], axis=0)]
    table += [np.mean([[auroc(i.max(1), o) for i, o in zip(clean, said, strict=True)] for said in far], axis=0)]
    return dict(zip(reads, np.array(table).T, strict=True))


if __name__ == "__main__":
    warnings.simplefilter("ignore")  # small validation sets
    main()
