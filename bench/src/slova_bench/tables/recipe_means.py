"""Rows of recipes as columns: which sets are near, far and noise, and means over sets."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from slova_bench.labels import PAPER_SHIFTS
from slova_bench.results import Row
from slova_bench.tables.seeds import Name

__all__ = ["REAL", "Chosen", "Values", "means", "ood_groups", "paper_shifts", "real"]

NEAR = {"cifar10": ("cifar100-test", "tinyimagenet-test"), "cifar100": ("cifar10-test", "tinyimagenet-test")}
NOISE = ("uniform", "permuted", "low_pass")
REAL = "real OOD"

Values = dict[Name, dict[int, float]]
Chosen = Callable[[Row], bool]


def paper_shifts(rows: Sequence[Row]) -> tuple[str, ...]:
    """The shifts of the paper that have rows; all shifts where none of them has."""
    every = tuple(dict.fromkeys(row.shift for row in rows if row.shift))
    return tuple(shift for shift in every if shift in PAPER_SHIFTS) or every


def ood_groups(on: str) -> dict[str, Chosen]:
    """Near and far OOD sets, and noise."""
    near = NEAR.get(on, ())
    return {
        "near OOD": lambda row: row.test in near,
        "far OOD": lambda row: row.test not in (*near, *NOISE, f"{on}-test"),
        "noise": lambda row: row.test in NOISE,
    }


def real(on: str) -> Chosen:
    """The OOD sets that are no noise."""
    return lambda row: row.test not in (*NOISE, f"{on}-test")


def means(rows: Sequence[Row], metric: str, chosen: Chosen) -> Values:
    """method -> seed -> mean over the chosen rows, for the seeds that have every chosen set."""
    values: dict[Name, dict[int, dict[tuple[str, str, float], float]]] = {}
    for row in rows:
        if row.metric == metric and chosen(row):
            sets = values.setdefault((row.method, row.variant), {}).setdefault(row.seed, {})
            sets[row.test, row.shift, row.level] = row.value
    every = len({place for seeds in values.values() for sets in seeds.values() for place in sets})
    found = {
        name: {seed: float(np.mean(list(sets.values()))) for seed, sets in seeds.items() if len(sets) == every}
        for name, seeds in values.items()
    }
    return {name: seeds for name, seeds in found.items() if seeds}
