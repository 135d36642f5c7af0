"""A pretrained network, fine-tuned with the image recipe and with softmax and the same degradations.

    python benchmarks/fine_tune.py --data FOLDER --weights PACKAGES --results rows.csv --seed 0

EfficientNet-Lite0 of ImageNet (see lite0.py) learns CIFAR-10 enlarged to 128 pixels, 45,000 images; 5,000 calibrate.
Crops, flips, degradations and outliers are made of the images of 32 pixels, which the network enlarges itself, and so
are the versions of `Classifier.fit` and the shifted test images. Both networks have the same steps, optimiser and
learning rate (AdamW, which does not depend on the scale of a loss). Rows are written after each network, and a network
whose rows are there is not repeated. FOLDER is that of `slova bench run`; a set that is not there is left out.

On clean and shifted images the classes are scored given "not none". `auroc` is that of P(none), or of the confidence
where a calibration has no P(none), `auroc_confidence` that of the confidence, against the clean test images. `refused`
is the share of images whose P(none) is above a half, `detected` the share beyond the P(none), or below the confidence,
at which 5 % of the clean test images are refused.
"""

from __future__ import annotations

import argparse
import csv
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from lite0 import Lite0
from slova_bench.augment import crop_flip
from slova_bench.data import DataError, load
from slova_bench.shifts import corrupt, ood_images
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

import slova
from slova.metrics import accuracy, auroc, brier, ece, nll
from slova.vision import augment

Row = dict[str, Any]
Sets = dict[tuple[str, int], tuple[Tensor, Tensor]]  # images uint8 and labels, by name and severity

SIDE, BATCH, RATE, DECAY, WARM_UP, AT_ONCE = 128, 256, 1e-3, 0.01, 0.2, 1000
HELD_OUT, SEEN = ("motion_blur", "snow", "jpeg_compression"), ("gaussian_noise", "glass_blur", "fog")
LEVELS, SHIFTED, NOISE, ALLOWED = (1, 3, 5), 5000, 2000, 0.05
COLUMNS = ("network", "seed", "epochs", "seconds", "calibration", "test", "level", "images", "held_out", "accuracy")
COLUMNS += ("ece", "nll", "brier", "confidence", "none", "refused", "detected", "auroc", "auroc_confidence")
OOD = ("cifar100-test", "tinyimagenet-test", "svhn-test")


class Recipe(NamedTuple):
    """A share of outliers, a loss, and the calibrations of the fit."""

    outliers: float
    loss: Callable[[Tensor, Tensor], Tensor]
    calibrations: tuple[str, ...] = ("posterior",)


RECIPES = {
    "image recipe": Recipe(0.5, lambda logits, labels: slova.ova_loss(logits, labels, cross_entropy=1.5)),
    "softmax, degradations": Recipe(0.0, cross_entropy, ("posterior", "temperature")),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="folder of the images")
    parser.add_argument("--weights", type=Path, help="folder of the packages of the network")
    parser.add_argument("--results", type=Path, default=Path(__file__).parent / "results" / "fine_tune.csv")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--limit", type=int, help="only so many images of each set, to try it")
    options = parser.parse_args()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    torch.backends.cudnn.benchmark = True
    finished = {(row["network"], row["seed"]) for row in read(options.results)}
    wanted = [name for name in RECIPES if (name, str(options.seed)) not in finished]
    train, validation = (load(f"cifar10-{part}", folder=options.data, limit=options.limit) for part in ("train", "val"))
    tests = test_sets(options.data, options.limit) if wanted else {}
    for name in wanted:
        torch.manual_seed(options.seed)
        started, recipe = time.perf_counter(), RECIPES[name]
        network = fine_tuned(
            recipe, Lite0(options.weights, classes=10, side=SIDE).to(device), train, options.epochs, options.seed
        )
        about = {"network": name, "seed": options.seed, "epochs": options.epochs}
        about["seconds"] = round(time.perf_counter() - started)
        found = [about | row for row in measured(recipe, network, validation, tests)]
        print(f"{name}: {about['seconds']} s, with its rows {time.perf_counter() - started:.0f} s", flush=True)
        append(options.results, found)


def read(path: Path) -> list[dict[str, str]]:
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def append(path: Path, rows: list[Row]) -> None:
    new = not path.exists()
    with path.open("a", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS)
        if new:
            writer.writeheader()
        writer.writerows(rows)


def fine_tuned(recipe: Recipe, network: nn.Module, train: Any, epochs: int, seed: int) -> nn.Module:
    if recipe.outliers:
        slova.prepare(network)
    device, generator = next(network.parameters()).device, torch.Generator().manual_seed(seed)
    images, labels = train.images.to(device), train.labels.to(device)
    optimiser = torch.optim.AdamW(network.parameters(), RATE, weight_decay=DECAY, fused=device.type == "cuda")
    steps = max(len(labels) // BATCH, 1)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, RATE, epochs * steps, pct_start=WARM_UP)
    network.train()
    for epoch in range(epochs):
        started, losses = time.perf_counter(), []
        for rows in torch.randperm(len(labels), generator=generator)[: steps * BATCH].tensor_split(steps):
            batch, targets = crop_flip(images[rows], generator).float() / 255, labels[rows]
            batch, targets = augment(batch, targets, degraded=0.5, mixed=0.0, outliers=recipe.outliers)
            with torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
                logits = network(batch)
            loss = recipe.loss(logits.float(), targets)
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            schedule.step()
            losses.append(loss.detach())
        mean = torch.stack(losses).mean().item()
        print(f"epoch {epoch + 1}: loss {mean:.3f}, {time.perf_counter() - started:.1f} s", flush=True)
    return network.eval()


def test_sets(folder: Path, limit: int | None) -> Sets:
    """The clean test images first."""
    test = load("cifar10-test", folder=folder, limit=limit)
    found: Sets = {("clean", 0): (test.images, test.labels)}
    images, labels = test.images[:SHIFTED], test.labels[:SHIFTED]
    wanted = [(name, level) for name in HELD_OUT + SEEN for level in LEVELS]
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        made = {shift: pool.submit(corrupt, images.numpy(), *shift) for shift in wanted}
        found |= {shift: (torch.from_numpy(changed.result()), labels) for shift, changed in made.items()}
    for name in OOD:
        try:
            found[name, 0] = _none(load(name, folder=folder, limit=limit or 10_000).images)
        except DataError as error:
            print(f"{name} is left out: {error}", flush=True)
    found["uniform noise", 0] = _none(ood_images(images[:NOISE], "uniform"))
    return found


def _none(images: Tensor) -> tuple[Tensor, Tensor]:
    return images, torch.full((len(images),), int(slova.NONE))


def measured(recipe: Recipe, network: nn.Module, validation: Any, tests: Sets) -> Iterator[Row]:
    for calibration in recipe.calibrations:
        classifier = slova.Classifier.fit(
            network, validation.images.float() / 255, validation.labels, calibration=calibration, batch_size=AT_ONCE
        )
        print(classifier, flush=True)

        def ask(images: Tensor, classifier: slova.Classifier = classifier) -> np.ndarray:
            return classifier.predict_proba(images.float() / 255, batch_size=AT_ONCE).numpy()

        clean = ask(tests["clean", 0][0])
        for (name, level), (images, labels) in tests.items():
            about = {"calibration": calibration, "test": name, "level": level, "images": len(labels)}
            about["held_out"] = int(name in HELD_OUT)
            yield about | scores(ask(images), labels.numpy(), clean)


def scores(outcomes: np.ndarray, labels: np.ndarray, clean: np.ndarray) -> Row:
    """Of the probabilities (N, K + 1) of a set, beside those of the clean test images."""
    none, confidence = outcomes[:, -1], outcomes[:, :-1].max(1)
    by_confidence = clean[:, :-1].max(1), confidence
    inside, outside = (-clean[:, -1], -none) if clean[:, -1].any() else by_confidence
    numbers = {"confidence": confidence.mean(), "none": none.mean(), "refused": (none > 0.5).mean()}
    numbers["detected"] = (outside < np.quantile(inside, ALLOWED)).mean()
    if (labels == slova.NONE).all():
        numbers |= {"auroc": auroc(inside, outside), "auroc_confidence": auroc(*by_confidence)}
    else:
        probs = outcomes[:, :-1] / outcomes[:, :-1].sum(1, keepdims=True)
        numbers |= {"accuracy": accuracy(probs, labels), "ece": ece(probs, labels), "brier": brier(probs, labels)}
        numbers["nll"] = nll(np.log(np.maximum(probs, 1e-12)), labels)
    return {name: round(float(number), 5) for name, number in numbers.items()}


if __name__ == "__main__":
    main()
