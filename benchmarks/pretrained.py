"""A pretrained network of 1,000 classes as it is, calibrated on 500 images: how good are confidence and P(none)?

    python benchmarks/pretrained.py --data FOLDER --weights PACKAGES --cache CACHE

EfficientNet-Lite0 (see lite0.py) and 1,000 ImageNet images, image i of class i, in `imagenet224-test.npz`. A random
half of them calibrates, at most one image per class; the other half tests, ten times. Other images are SVHN and CIFAR,
which the network enlarges from 32 to 224 pixels, and uniform noise. The network sees each image once per version: what
it says is kept in CACHE by set, and a set that is there is not read again. A half consists of batches of 50 images, so
that a synthetic image is made of images of its own half. From there on a split is what `Classifier.fit` does.

The columns are those of fine_tune.py. "energy" ranks images by the log-sum-exp of the logits (Liu et al. 2020), which
is no probability. Degraded test images are of kinds that the fit does not use.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from fine_tune import ALLOWED, scores
from lite0 import Lite0
from scipy.special import logsumexp
from torch import Tensor, nn

from slova import NONE, Scorer
from slova.metrics import auroc
from slova.vision import FeatureStatistics, record_activations
from slova.vision.degradations import degrade
from slova.vision.features import find_layers
from slova.vision.held_out_degradations import SELECTION_DEGRADATIONS
from slova.vision.shift_aware import DEGRADED_WEIGHT, Outputs, ShiftOptions, fit_rows
from slova.vision.versions import VersionReader

Row = dict[str, Any]
Read = dict[str, Outputs]  # by the name of a set, or of a version of the ImageNet images

CLASSES, BATCH, SPLITS = 1000, 50, 10
KINDS = ("clean", "degraded", "synthetic")
OTHER_SETS, OTHERS = ("svhn", "cifar10", "cifar100"), 500
NOISE_SIDES, NOISE = (224, 32), 200
NONE_SHARE = 0.05  # the prior of `Classifier.fit` where the images of no class are synthetic
RESULTS = Path(__file__).parent / "results" / "pretrained.csv"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder of the images")
    parser.add_argument("--weights", type=Path, help="folder of the packages of the network")
    parser.add_argument("--cache", type=Path, required=True, help="folder of what the network said")
    parser.add_argument("--results", type=Path, default=RESULTS)
    options = parser.parse_args()
    options.cache.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    found, order = read_all(Lite0(options.weights), options.data, options.cache)
    rows = [{"split": split} | row for split in range(SPLITS) for row in measured(found, order, split)]
    pd.DataFrame(rows).to_csv(options.results, index=False)


def read_all(network: nn.Module, data: Path, cache: Path) -> tuple[Read, np.ndarray]:
    """What the network says of all sets, and the labels of the ImageNet images."""
    order, chosen = (np.random.default_rng(seed).permutation(size) for seed, size in ((0, CLASSES), (1, 10_000)))
    own = partial(images_of, data, "imagenet224-test", order)
    sets: dict[str, Callable[[], Iterable[Tensor]]] = {"other": lambda: map(degraded_otherwise, own())}
    sets |= {name: partial(images_of, data, f"{name}-test", chosen[:OTHERS]) for name in OTHER_SETS}
    sets |= {f"noise{side}": partial(noise, side) for side in NOISE_SIDES}
    if not all((cache / f"{kind}.npz").exists() for kind in KINDS):
        reader = VersionReader(network.eval(), ShiftOptions(), synthetic=True, seed=0)
        with torch.inference_mode():
            for number, batch in enumerate(own()):
                reader(((batch,), {}))
                print(f"{number + 1} batches of ImageNet and their versions", flush=True)
        for kind in KINDS:
            save(cache / f"{kind}.npz", Outputs.joined(reader.parts[kind]))
    for name, batches in sets.items():
        if not (cache / f"{name}.npz").exists():
            save(cache / f"{name}.npz", Outputs.joined([read(network, batch) for batch in batches()]))
            print(name, flush=True)
    return {name: load(cache / f"{name}.npz") for name in (*KINDS, *sets)}, order


def images_of(data: Path, name: str, chosen: np.ndarray) -> Iterator[Tensor]:
    with np.load(data / f"{name}.npz") as file:
        images = torch.from_numpy(file["images"][chosen]).permute(0, 3, 1, 2)
    return (batch.float() / 255 for batch in images.split(BATCH))


def degraded_otherwise(images: Tensor) -> Tensor:
    return degrade(images, seed=1, kinds=SELECTION_DEGRADATIONS)


def noise(side: int) -> Iterator[Tensor]:
    return iter(torch.rand((NOISE, 3, side, side), generator=torch.Generator().manual_seed(side)).split(BATCH))


@torch.inference_mode()
def read(network: nn.Module, images: Tensor) -> Outputs:
    layers = find_layers(network.eval(), images[:2])
    with record_activations(network, layers) as channels:
        logits = network(images).numpy()
    return Outputs(logits, [channels[name].numpy() for name in layers], np.arange(len(logits)))


def save(path: Path, outputs: Outputs) -> None:
    arrays = {str(number): channels for number, channels in enumerate(outputs.channels)}
    np.savez(path, logits=outputs.logits, **arrays)  # type: ignore[arg-type]


def load(path: Path) -> Outputs:
    with np.load(path) as file:
        channels = [file[str(number)] for number in range(len(file.files) - 1)]
        return Outputs(file["logits"], channels, np.arange(len(file["logits"])))


def measured(found: Read, labels: np.ndarray, split: int) -> Iterator[Row]:
    fit, test = halves(split)
    tests = {"ImageNet": at(found["clean"], test), "ImageNet, degraded": at(found["other"], test)}
    tests |= {name: part for name, part in found.items() if name not in (*KINDS, "other")}
    asked = fitted(*(at(found[kind], fit) for kind in KINDS), labels[fit])
    for name, part in tests.items():
        truth = labels[test] if name.startswith("ImageNet") else np.full(len(part.logits), int(NONE))
        about = {"test": name, "images": len(truth)}
        for calibration, ask in asked.items():
            yield {"calibration": calibration} | about | scores(ask(part), truth, ask(tests["ImageNet"]))
        if not name.startswith("ImageNet"):
            yield {"calibration": "energy"} | about | ranked(part.logits, tests["ImageNet"].logits)


def halves(split: int) -> list[np.ndarray]:
    """Rows to fit to and to test on. The first split is in order: `Classifier.fit` of the first half is the same."""
    batches = np.arange(CLASSES).reshape(-1, BATCH)
    order = np.random.default_rng(split).permutation(len(batches)) if split else np.arange(len(batches))
    return [batches[np.sort(part)].ravel() for part in np.split(order, 2)]


def fitted(
    clean: Outputs, degraded: Outputs, synthetic: Outputs, labels: np.ndarray
) -> dict[str, Callable[[Outputs], np.ndarray]]:
    """Calibrations as functions to probabilities (N, K + 1)."""
    rows, statistics = fit_rows(clean, labels, degraded, synthetic, None)
    posterior = Scorer.fit(**rows._asdict(), none_share=NONE_SHARE)
    temperature = partial(Scorer.fit, head="softmax", calibration="temperature")
    logits, weight = np.concatenate([clean.logits, degraded.logits]), np.repeat([1.0, DEGRADED_WEIGHT], len(labels))
    plain = temperature(clean.logits, labels)
    both = temperature(logits, np.tile(labels, 2), weight=weight)
    return {
        "posterior": partial(by_distance, posterior, statistics),
        "temperature": lambda part: np.asarray(plain.predict_proba(part.logits)),
        "temperature, degraded images too": lambda part: np.asarray(both.predict_proba(part.logits)),
    }


def at(outputs: Outputs, rows: np.ndarray) -> Outputs:
    return Outputs(outputs.logits[rows], [channels[rows] for channels in outputs.channels], np.arange(len(rows)))


def by_distance(scorer: Scorer, statistics: list[FeatureStatistics], outputs: Outputs) -> np.ndarray:
    squares = [layer.square(channels) for layer, channels in zip(statistics, outputs.channels, strict=True)]
    return np.asarray(scorer.predict_proba(outputs.logits, distances=np.log1p(np.column_stack(squares))))


def ranked(logits: np.ndarray, clean: np.ndarray) -> Row:
    outside, inside = logsumexp(logits, axis=1), logsumexp(clean, axis=1)
    detected = (outside < np.quantile(inside, ALLOWED)).mean()
    return {"detected": round(float(detected), 5), "auroc": round(auroc(inside, outside), 5)}


if __name__ == "__main__":
    main()
