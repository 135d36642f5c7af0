"""Random search of learning rate, weight decay and constants of Adam on validation data; trials are kept, so that a
search resumes and grows."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from slova.metrics import accuracy, nll
from slova_bench.method import Method
from slova_bench.pipeline import Bench, mean_readout
from slova_bench.store import describe
from slova_bench.train import Recipe

__all__ = ["PAPER", "Space", "Trial", "search"]


@dataclass(frozen=True)
class Space:
    """Where to look: each number log-uniform between its two ends, or uniform."""

    rate: tuple[float, float] = (0.03, 3.0)
    weight_decay: tuple[float, float] = (1e-4, 2e-3)
    momentum: tuple[float, float] | None = None  # beta_1 of Adam; None: that of the recipe
    adam_eps: tuple[float, float] | None = None
    uniform: bool = False

    def draw(self, recipe: Recipe, seed: int) -> Recipe:
        generator = np.random.default_rng(seed)
        ends = {name: getattr(self, name) for name in ("rate", "weight_decay", "momentum", "adam_eps")}
        drawn: dict[str, Any] = {name: self._one(two, generator) for name, two in ends.items() if two is not None}
        return replace(recipe, **drawn)

    def _one(self, ends: tuple[float, float], generator: np.random.Generator) -> float:
        low, high = ends
        if self.uniform:
            return float(f"{generator.uniform(low, high):.3g}")
        return float(f"{math.exp(generator.uniform(math.log(low), math.log(high))):.3g}")


PAPER = Space(  # of the paper, for Adam
    rate=(1e-3, 1.0), weight_decay=(2e-4, 2e-4), momentum=(0.85, 0.99), adam_eps=(1e-8, 1e-5), uniform=True
)


@dataclass(frozen=True)
class Trial:
    """What a recipe reached on validation data."""

    recipe: Recipe
    accuracy: float
    nll: float


def search(
    method: Method, bench: Bench, *, space: Space | None = None, trials: int = 20, seed: int = 0
) -> Iterator[Trial]:
    """The trials one by one; the best is `max(trials, key=lambda trial: trial.accuracy)`. A trial's network is trained
    once ever."""
    base = bench.dataset.recipe(method)
    for number in range(trials):
        yield _trial(method, bench, (space or Space()).draw(base, seed + number))


def _trial(method: Method, bench: Bench, recipe: Recipe) -> Trial:
    what = {
        **bench.weights(replace(method, recipe=recipe), 0),
        "asked": describe([method.members, method.samples, method.adapt, method.head]),
        "validation": [bench.dataset.val, bench.limit],
    }

    def compute() -> dict[str, torch.Tensor]:
        trained = bench.trained(replace(method, recipe=recipe), 0)
        split = bench.validation
        log_probs = mean_readout(method.head, trained.outputs(split.images).logits).log_probs
        labels = split.labels.numpy()
        return {"reached": torch.tensor([accuracy(np.exp(log_probs), labels), nll(log_probs, labels)])}

    reached = bench.store.get("trial", what, compute)["reached"]
    return Trial(recipe, float(reached[0]), float(reached[1]))
