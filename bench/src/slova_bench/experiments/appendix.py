"""The calibration curve of complete ignorance (Appendix A): exact, the paper's approximation 1 - (1 - P)^K, and a sum
of powers fitted to the exact one. It involves no network."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.special import gammaincc

from slova._backend import Array
from slova.calibration.mixture import Points, best_mixture
from slova_bench.experiment import Work
from slova_bench.method import Method
from slova_bench.pipeline import Bench
from slova_bench.results import Cell, Results, Row

CLASSES = 3
LEVELS = np.linspace(0.01, 1.0, 100).round(2)


def exact(probability: Array) -> Array:
    """Gamma(K, log 1/P) / (K-1)!: the probability that a product of K uniform numbers is below P."""
    return np.asarray(gammaincc(CLASSES, -np.log(probability)))


def approximate(probability: Array) -> Array:
    return 1 - (1 - probability) ** CLASSES


def fitted(probability: Array) -> Array:
    t = -np.log(LEVELS)
    mixture = best_mixture(Points(t, exact(LEVELS), np.full(len(t), 1 / len(t))))
    return mixture.at(-np.log(probability))


@dataclass(frozen=True)
class Appendix:
    """The three curves on a grid of probabilities."""

    name: str = "appendix"
    methods: tuple[str, ...] = ()

    def work(self, bench: Bench, results: Results, methods: Sequence[Method], seeds: Iterable[int]) -> list[Work]:
        known = {row.key for row in results.read()}
        curves = ([row for row in self._curve(curve) if row.key not in known] for curve in (exact, approximate, fitted))
        return [Work(1, partial(iter, [rows])) for rows in curves if rows]

    def _curve(self, curve: Callable[[Array], Array]) -> list[Row]:
        cells = [Cell(self.name, curve.__name__, "", "", "", "", float(p), 0, 1, "K", CLASSES) for p in LEVELS]
        return [Row.of(cell, "calibrated", value) for cell, value in zip(cells, curve(LEVELS), strict=True)]


EXPERIMENT = Appendix()
