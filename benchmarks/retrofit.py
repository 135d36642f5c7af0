"""How much of a trained one-vs-all network does a retrofitted softmax network recover, without training data and with a
new last layer? The networks, shifts and foreign sets of the comparison; mean over seeds.

python benchmarks/retrofit.py digits 5
python benchmarks/retrofit.py cifar10 5     # trains ten networks, or takes them from .slova: wants a GPU
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor, nn

from slova.backend import Array
from slova.bench.methods import find
from slova.bench.networks import last_linear, with_last
from slova.bench.pipeline import Bench, Trained
from slova.bench.sets import TestSet, foreign_sets, shifted_sets
from slova.bench.settings import setting
from slova.bench.store import Store
from slova.bench.train import Place
from slova.calibration import AffineCalibration, ExponentialCalibration, TemperatureScaling
from slova.heads import log_slova, log_softmax
from slova.metrics import accuracy, auroc, ece
from slova.retrofit import features_of, log_odds, refit

Ask = Callable[[Tensor], Array]  # images to logits (N, K)
NAMES = ("accuracy", "clean ECE", "ECE q25", "ECE q50", "ECE q75", "MMC", "AUROC")
DECAYS = (1e-2, 1e-3, 1e-4, 0.0)


def main() -> None:
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    bench = Bench(setting(sys.argv[1]), Store(".slova"), Place(device))
    tables = [measured(bench, seed) for seed in range(int(sys.argv[2]))]
    print(f"{sys.argv[1]}, {len(tables)} seeds".ljust(28), *(name.rjust(9) for name in NAMES))
    for kind in tables[0]:
        print(kind.ljust(28), *(f"{value:9.3f}" for value in np.mean([table[kind] for table in tables], axis=0)))


def measured(bench: Bench, seed: int) -> dict[str, list[float]]:
    softmax, own = (bench.trained(method, seed) for method in find(["softmax", "ova"]))
    labels = bench.validation.labels.numpy()
    odds = log_odds(said(softmax)(bench.validation.images))
    affine = AffineCalibration.fit(odds, labels)
    table = {
        "softmax": scores(bench, lambda images: log_softmax(said(softmax)(images))),
        "temperature": calibrated(bench, said(softmax), log_softmax, TemperatureScaling.fit),
        "rescaled log-odds": calibrated(bench, said(softmax), lambda logits: log_slova(affine(log_odds(logits)))),
    }
    for decay, network in zip(DECAYS, renewed(bench, softmax.networks[0]), strict=True):
        layer = Trained([network], 1, seed, bench.place.device)
        table[f"new last layer, decay {decay:g}"] = calibrated(bench, said(layer), log_slova)
    return {**table, "trained one-vs-all": calibrated(bench, said(own), log_slova)}


def renewed(bench: Bench, network: nn.Sequential) -> list[nn.Sequential]:
    """The softmax network with last layers fitted one-vs-all to its features of the training images."""
    last, split = last_linear(network), bench.training
    batches = zip(torch.split(split.images, 1000), torch.split(split.labels, 1000), strict=True)
    features, labels = features_of(network, last, ((images.float() / 255, truth) for images, truth in batches))
    return [with_last(network, refit(last, features, labels, decay=decay)).eval() for decay in DECAYS]


def said(trained: Trained) -> Ask:
    return lambda images: trained.outputs(images).logits[0]


def calibrated(
    bench: Bench, ask: Ask, read: Callable[[Array], Array], fit: Callable[..., Callable[[Array], Array]] | None = None
) -> list[float]:
    """The measures after a map was fitted to the validation images."""
    fitted = (fit or ExponentialCalibration.fit)(read(ask(bench.validation.images)), bench.validation.labels.numpy())
    return scores(bench, lambda images: fitted(read(ask(images))))


def scores(bench: Bench, ask: Ask) -> list[float]:
    def probs(test: TestSet) -> tuple[Array, Array]:
        images, labels = test.load(bench)
        return np.exp(ask(images)), labels.numpy()

    clean, *shifted = [probs(test) for test in shifted_sets(bench)]
    errors = [ece(*pair) for pair in (clean, *shifted)]
    inside, far = clean[0].max(1), [probs(test)[0].max(1) for test in foreign_sets(bench)[1:]]
    ranks = [auroc(inside, outside) for outside in far]
    quartiles = np.percentile(errors, [25, 50, 75])
    return [accuracy(*clean), errors[0], *quartiles, float(np.mean([one.mean() for one in far])), float(np.mean(ranks))]


if __name__ == "__main__":
    warnings.simplefilter("ignore")  # small validation sets
    main()
