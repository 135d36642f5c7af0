"""Comparison of methods on rows: complete blocks, per seed and pooled, against a control."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from slova_bench import labels
from slova_bench.ranks import Distance, Floats, Friedman, bonferroni_dunn, friedman, ranks
from slova_bench.results import variant

__all__ = ["Cell", "Comparison", "Verdict", "compare"]


class Cell(NamedTuple):
    """One row of the table of ranks."""

    experiment: str
    train: str
    test: str
    shift: str
    level: float


Unit = tuple[Cell, int]  # a cell at a seed
Units = dict[Unit, list[float]]  # to one value per metric


@dataclass(frozen=True)
class Verdict:
    """Friedman's test, corrected for ties, and the critical distance, which is valid only if the test rejects."""

    friedman: Friedman
    distance: Distance

    @property
    def rejects(self) -> bool:
        """Whether "all methods are equal" is rejected."""
        return self.friedman.p < self.distance.alpha


@dataclass(frozen=True)
class Comparison:
    """Verdicts per seed (with two cells or more), and of the means over seeds.

    `naive` treats each seed of a cell as a cell of its own, which inflates N: for comparison only. `whole` has the
    verdicts of the seeds with every cell, or the pooled one if there is no such seed. `caution` is a note
    if the cells are not independent. `dropped`: the methods without a cell at a seed; `left_out`: the methods that
    share no cell with the control.
    """

    per_seed: dict[int, Verdict]
    pooled: Verdict
    naive: Verdict
    cells: tuple[Cell, ...]
    dropped: dict[Unit, tuple[str, ...]]
    left_out: tuple[str, ...]
    caution: str

    @property
    def whole(self) -> list[Verdict]:
        return [one for one in self.per_seed.values() if one.distance.cells == len(self.cells)] or [self.pooled]


def compare(
    rows: Iterable[Mapping[str, Any]],
    *,
    metrics: Sequence[str],
    control: str = "slova",
    methods: Sequence[str] | None = None,
    alpha: float = 0.05,
) -> Comparison:
    """Compare methods on the cells and seeds that all of them have.

    A method with a variant is named "method variant". With several metrics the rank in a cell is the plain mean over
    them, so that a cell stays one row; Friedman's test ranks these means within the cell. The default of `methods` is
    all that share a cell with the control.
    """
    if isinstance(metrics, str) or not metrics:
        raise ValueError(f"metrics must be a list of names, got {metrics!r}")
    found = _read(rows, metrics)
    names, left_out = _named(found, control, methods)
    units, dropped = _complete(found, names)
    cells = _cells(units, {name: found[name] for name in names})

    def verdict(values: Floats) -> Verdict:
        table = _mean_over_metrics(values, metrics)
        means = dict(zip(names, table.mean(0).tolist(), strict=True))
        return Verdict(friedman(table), bonferroni_dunn(means, len(table), control=control, alpha=alpha))

    values = np.array([[found[name][unit] for name in names] for unit in units]).transpose(0, 2, 1)
    of_cell, of_seed = np.array([(cells.index(cell), seed) for cell, seed in units]).T
    seeds = [int(seed) for seed in np.unique(of_seed) if (of_seed == seed).sum() > 1]
    return Comparison(
        per_seed={seed: verdict(values[of_seed == seed]) for seed in seeds},
        pooled=verdict(np.stack([values[of_cell == index].mean(0) for index in range(len(cells))])),
        naive=verdict(values),
        cells=tuple(cells),
        dropped=dropped,
        left_out=left_out,
        caution=_caution(cells),
    )


def _read(rows: Iterable[Mapping[str, Any]], metrics: Sequence[str]) -> dict[str, Units]:
    """The cells and seeds of every method with all metrics."""
    values: dict[str, dict[Unit, dict[str, float]]] = {}
    for row in rows:
        if row["metric"] not in metrics:
            continue
        name = f"{row['method']} {variant(row['preset'], row['parameter'], float(row['parameter_value']))}".strip()
        cell = Cell(row["experiment"], row["train"], row["test"], row["shift"], float(row["level"]))
        unit = values.setdefault(name, {}).setdefault((cell, int(row["seed"])), {})
        if row["metric"] in unit:
            raise ValueError(f"{name} has two values of {row['metric']} at seed {row['seed']} of {tuple(cell)}")
        unit[row["metric"]] = _value(row, name)
    return {
        name: {key: [unit[metric] for metric in metrics] for key, unit in units.items() if len(unit) == len(metrics)}
        for name, units in values.items()
    }


def _value(row: Mapping[str, Any], name: str) -> float:
    value = float(row["value"])
    if math.isnan(value):
        raise ValueError(
            f"{row['metric']} of {name} is NaN at seed {row['seed']} of {row['test']} {row['shift']}".strip()
        )
    if row["metric"] == "mmc" and row["train"].rpartition("-")[0] == row["test"].rpartition("-")[0]:
        raise ValueError(f"mmc on {row['test']} is in-distribution, where less is not better: leave these rows out")
    return value


def _named(
    found: Mapping[str, Units], control: str, methods: Sequence[str] | None
) -> tuple[list[str], tuple[str, ...]]:
    """The methods to compare, and those that share no cell with the control."""
    for name in (control, *(methods or ())):
        if not found.get(name):
            raise ValueError(f"{name!r} has no such rows; there are {', '.join(sorted(found)) or 'none at all'}")
    if methods is not None:
        return sorted({control, *methods}), ()
    near = [name for name in sorted(found) if not found[name].keys().isdisjoint(found[control])]
    return near, tuple(sorted(found.keys() - set(near)))


def _complete(found: Mapping[str, Units], names: Sequence[str]) -> tuple[list[Unit], dict[Unit, tuple[str, ...]]]:
    """The cells and seeds of all methods; for the others, the methods that lack them."""
    seen = {unit for name in names for unit in found[name]}
    lacking = {unit: tuple(name for name in names if unit not in found[name]) for unit in sorted(seen)}
    return [unit for unit in lacking if not lacking[unit]], {unit: those for unit, those in lacking.items() if those}


def _cells(units: Iterable[Unit], found: Mapping[str, Units]) -> list[Cell]:
    cells = sorted({cell for cell, _ in units})
    if len(cells) < 2:
        fewest = min(found, key=lambda name: len(found[name]))
        raise ValueError(f"at least 2 cells with all methods are needed, got {len(cells)}; {fewest} has the fewest")
    return cells


def _mean_over_metrics(values: Floats, metrics: Sequence[str]) -> Floats:
    """values (N, metrics, k) to mean ranks (N, k)."""
    larger = [labels.metric(metric).larger for metric in metrics]
    return np.asarray(np.mean([ranks(values[:, index], larger=up) for index, up in enumerate(larger)], axis=0))


def _caution(cells: Sequence[Cell]) -> str:
    sets = len({(cell.train, cell.test) for cell in cells})
    if sets == len(cells):
        return ""
    what = "pair" if sets == 1 else "pairs"
    return f"{len(cells)} cells of {sets} {what} of sets are not independent: p-values and distances are too small"
