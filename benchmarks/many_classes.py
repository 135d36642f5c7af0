"""Calibration with very many classes: a linear one-vs-all head, trained by the exact loss, calibrated in several ways.

    python benchmarks/many_classes.py 1000 10000 100000

The problem is synthetic: K classes in families of twenty, a centre each in 64 dimensions, frequencies that fall like
1 / rank^0.8, Gaussian noise. The head starts from the class means of ten examples a class on average (the rarest have
one or none) and is trained on the same examples. Calibration and test have 4000 rows each, drawn anew. Rows:
benchmarks/results/many_classes.csv.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import torch
from scipy.optimize import minimize
from torch import Tensor

from slova import extreme
from slova.calibration import (
    AffineCalibration,
    BetaCalibration,
    Calibrator,
    ExponentialCalibration,
    IsotonicCalibration,
    PairHistogram,
    Pairs,
    TemperatureScaling,
    complete,
)
from slova.heads import log_slova, log_softmax
from slova.metrics import ece

WIDTH, NOISE, SPREAD, FALL = 64, 1.5, 0.5, 0.8
EXAMPLES, BATCH, STEPS, RATE = 10, 256, 300, 0.01
ROWS, WHOLE = 4000, 500  # to calibrate and to test on; those of them whose whole rows are looked at
CHUNK = 1 << 23
RESULTS = Path(__file__).parent / "results" / "many_classes.csv"
NAMES = ("ece", "top_nll", "top_brier", "mmc", "nll", "brier")

Head = Callable[[Tensor], Tensor]


def main() -> None:
    warnings.simplefilter("ignore")
    found: list[dict[str, object]] = []
    for classes in map(int, sys.argv[1:] or ["1000"]):
        found += study(classes)
        pd.DataFrame(found).to_csv(RESULTS, index=False, float_format="%.5g")


def study(classes: int) -> Iterator[dict[str, object]]:
    start = time.perf_counter()
    world = World.of(classes)
    layer = trained(world, *world.rows(EXAMPLES * classes, seed=1))
    known, test = (Seen(layer, *world.rows(ROWS, seed)) for seed in (2, 3))
    for name, head, calibrator in methods(layer, known):
        numbers = (*top_measures(test.top(head), calibrator), *row_measures(test, head, calibrator))
        row = {"classes": classes, "method": name, **dict(zip(NAMES, numbers, strict=True))}
        yield row | (described(world, test) if calibrator is None and head is log_slova else {})
        print(row, f"{time.perf_counter() - start:.0f} s", flush=True)


class World(NamedTuple):
    """Where the classes lie, and how often each comes."""

    centres: Tensor
    shares: Tensor

    @classmethod
    def of(cls, classes: int) -> World:
        generator = torch.Generator().manual_seed(0)
        families = torch.randn(classes // 20, WIDTH, generator=generator)
        own = SPREAD * torch.randn(classes, WIDTH, generator=generator)
        shares = (torch.arange(classes) + 10.0) ** -FALL
        shares = shares[torch.randperm(classes, generator=generator)]
        return cls(families[torch.arange(classes) % len(families)] + own, shares / shares.sum())

    def rows(self, count: int, seed: int) -> tuple[Tensor, Tensor]:
        generator = torch.Generator().manual_seed(seed)
        labels = torch.multinomial(self.shares, count, replacement=True, generator=generator)
        return self.centres[labels] + NOISE * torch.randn(count, WIDTH, generator=generator), labels


class Layer(NamedTuple):
    matrix: Tensor
    bias: Tensor

    def logits(self, features: Tensor) -> Tensor:
        return torch.addmm(self.bias, features, self.matrix.T)


def trained(world: World, features: Tensor, labels: Tensor) -> Layer:
    """From the class means, as if they were known centres, by Adam on the one-vs-all loss."""
    count = torch.bincount(labels, minlength=len(world.shares)).float()
    means = torch.zeros_like(world.centres).index_add_(0, labels, features) / count.clamp(min=1)[:, None]
    doubt = NOISE**2 * (1 + 1 / count.clamp(min=1))
    matrix = (means / doubt[:, None]).requires_grad_()
    bias = ((count.clamp(min=0.5) / len(labels)).log() - means.square().sum(1) / 2 / doubt).requires_grad_()
    optimiser = torch.optim.Adam([matrix, bias], RATE)
    schedule = torch.optim.lr_scheduler.LinearLR(optimiser, 1.0, 0.0, STEPS)
    generator = torch.Generator().manual_seed(0)
    for _ in range(STEPS):
        batch = torch.randint(0, len(labels), (BATCH,), generator=generator)
        optimiser.zero_grad()
        extreme.ova_loss(features[batch], matrix, labels[batch], bias=bias).backward()  # type: ignore[no-untyped-call]
        optimiser.step()
        schedule.step()
    return Layer(matrix.detach(), bias.detach())


class Seen:
    """Rows of features and labels, and what a layer says of them, a few rows at a time."""

    def __init__(self, layer: Layer, features: Tensor, labels: Tensor) -> None:
        self.layer, self.features, self.labels = layer, features, labels

    def log_probs(self, head: Head, rows: int = ROWS) -> Iterator[tuple[Tensor, Tensor]]:
        size = max(1, CHUNK // len(self.layer.matrix))
        for features, labels in zip(self.features[:rows].split(size), self.labels[:rows].split(size), strict=True):
            yield head(self.layer.logits(features)), labels

    def top(self, head: Head) -> tuple[np.ndarray, np.ndarray]:
        """log-probability of the top class, and whether it is the label."""
        parts = [(*log_probs.max(-1), labels) for log_probs, labels in self.log_probs(head)]
        log_p, index, labels = (torch.cat(columns) for columns in zip(*parts, strict=True))
        return log_p.double().numpy(), (index == labels).numpy()


def methods(layer: Layer, known: Seen) -> Iterator[tuple[str, Head, Calibrator | None]]:
    """Name, log-probabilities of logits, and their calibrator."""
    histogram = sum_of(PairHistogram.of(log_probs, labels) for log_probs, labels in known.log_probs(log_slova))
    pairs = Pairs.merge(*known.top(log_slova))
    affine = fit_affine(layer, known)
    moved: Head = lambda logits: log_slova(affine(logits))
    few = torch.cat([log_probs for log_probs, _ in known.log_probs(log_softmax, WHOLE)])
    temperature = TemperatureScaling.fit(few, known.labels[:WHOLE])
    top = [[log_p[:, None], np.where(hit, 0, -1)] for log_p, hit in (known.top(head) for head in (log_slova, moved))]
    exponential = partial(ExponentialCalibration.fit_pairs, at_most_one=True)
    yield "SLOVA, raw", log_slova, None
    yield "exponential, all pairs", log_slova, ExponentialCalibration.fit_pairs(histogram.pairs)
    yield "exponential, top pairs", log_slova, exponential(pairs)
    yield "isotonic, top pairs", log_slova, IsotonicCalibration.fit(*top[0])
    yield "beta, top pairs", log_slova, BetaCalibration.fit(*top[0])
    yield "affine", moved, None
    yield "affine, exponential, top pairs", moved, exponential(Pairs.merge(*known.top(moved)))
    yield "affine, beta, top pairs", moved, BetaCalibration.fit(*top[1])
    yield "softmax", log_softmax, None
    yield "softmax, temperature", lambda logits: temperature(log_softmax(logits)), None


def fit_affine(layer: Layer, known: Seen) -> AffineCalibration:
    """`AffineCalibration.fit` of logits that are never all there."""

    def loss(numbers: np.ndarray) -> tuple[float, np.ndarray]:
        scale, offset = (torch.tensor(number, dtype=torch.float32, requires_grad=True) for number in numbers)
        value = extreme.ova_loss(known.features * scale, layer.matrix, known.labels, bias=layer.bias * scale + offset)
        return value.item(), np.array([float(slope) for slope in torch.autograd.grad(value, (scale, offset))])

    found = minimize(loss, np.array([1.0, 0.0]), jac=True, bounds=[(1e-3, 1e3), (-1e3, 1e3)], options={"ftol": 1e-7})
    return AffineCalibration(*found.x)


def sum_of(histograms: Iterator[PairHistogram]) -> PairHistogram:
    total = next(histograms)
    for histogram in histograms:
        total = total + histogram
    return total


def described(world: World, test: Seen) -> dict[str, object]:
    """How right the head and the best possible one are, and how many classes beside the top say yes."""
    best = Layer(world.centres / NOISE**2, world.shares.log() - world.centres.square().sum(1) / 2 / NOISE**2)
    right = Seen(best, test.features, test.labels).top(log_softmax)[1].mean()
    parts = [torch.stack([p.max(-1).values, p.sum(-1)], 1) for p, _ in test.log_probs(torch.sigmoid)]
    top, all_of_them = torch.cat(parts).mean(0).tolist()
    hits = test.top(log_slova)[1].mean()
    return {"accuracy": hits, "true_centres": right, "top_sigmoid": top, "other_sigmoids": all_of_them - top}


def top_measures(top: tuple[np.ndarray, np.ndarray], calibrator: Calibrator | None) -> tuple[float, ...]:
    """The calibration of the confidence: ECE, and NLL and Brier of "the label is right"."""
    log_p, hit = top
    log_c = log_p if calibrator is None else calibrator(log_p[:, None])[:, 0]
    confidence = np.exp(log_c)
    with np.errstate(divide="ignore"):
        surprise = -np.where(hit, log_c, np.log1p(-np.minimum(confidence, 1 - 1e-7)))
    error = ece(confidence[:, None], np.where(hit, 0, -1))
    return error, surprise.mean(), np.square(confidence - hit).mean(), confidence.mean()


def row_measures(test: Seen, head: Head, calibrator: Calibrator | None) -> tuple[float, float]:
    """NLL and Brier of all K classes, the row completed so that it sums to one."""
    surprise, brier = [], []
    for log_probs, labels in test.log_probs(head, WHOLE):
        row = complete(log_probs if calibrator is None else calibrator(log_probs), none=False).log_probs
        own = row.gather(-1, labels[:, None])[:, 0]
        surprise.append(-own)
        brier.append(1 - 2 * own.exp() + row.exp().square().sum(-1))
    return float(torch.cat(surprise).mean()), float(torch.cat(brier).mean())


if __name__ == "__main__":
    main()
