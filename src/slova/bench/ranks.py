"""Do methods differ? Ranks, Friedman's test and the Bonferroni-Dunn distance to a control (Demšar, JMLR 2006).

values and ranks (N, k): a row is a cell (a test set, or a shift of it), a column a method. Rank 1 is the best, and
methods that tie share the mean of their ranks.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = [
    "LARGER_IS_BETTER",
    "Cell",
    "Comparison",
    "Distance",
    "Friedman",
    "Verdict",
    "bonferroni_dunn",
    "compare",
    "friedman",
    "ranks",
]

# By the first word of a metric's name (accuracy_q50 is an accuracy). Of everything else, less is better.
LARGER_IS_BETTER = frozenset({"accuracy", "auroc", "aupr", "coverage"})

Floats = NDArray[np.float64]


class Cell(NamedTuple):
    """One row of the table of ranks."""

    experiment: str
    train: str
    test: str
    shift: str
    level: float


Unit = tuple[Cell, int]  # a cell at a seed
Units = dict[Unit, list[float]]  # to a value a metric


@dataclass(frozen=True)
class Friedman:
    """Chi-square (k - 1 degrees of freedom), Iman-Davenport's F (k - 1 and (k - 1)(N - 1)), and their p-values."""

    chi2: float
    p: float
    f: float
    f_p: float


@dataclass(frozen=True)
class Distance:
    """The critical-distance diagram: mean ranks, best first, and how far from the control's a difference begins."""

    mean_ranks: dict[str, float]
    control: str
    cells: int
    alpha: float
    distance: float

    @property
    def alike(self) -> tuple[str, ...]:
        """The methods that are statistically indistinguishable from the control, best first."""
        middle = self.mean_ranks[self.control]
        near = (name for name, rank in self.mean_ranks.items() if abs(rank - middle) < self.distance)
        return tuple(name for name in near if name != self.control)


@dataclass(frozen=True)
class Verdict:
    """Both steps: Friedman's test, corrected for ties, and the distances, which count only if it rejects."""

    friedman: Friedman
    distance: Distance

    @property
    def rejects(self) -> bool:
        """Whether "all methods are equal" is rejected."""
        return self.friedman.p < self.distance.alpha


@dataclass(frozen=True)
class Comparison:
    """Verdicts of result rows: one a seed (where it has two cells or more), and one of the means over seeds.

    `naive` counts each seed of a cell as a cell of its own, which inflates N: for comparison only. `caution` says when
    the cells themselves are not independent. `dropped`: which methods lacked a cell at a seed; `left_out`: the methods
    that have nothing in common with the control.
    """

    per_seed: dict[int, Verdict]
    pooled: Verdict
    naive: Verdict
    cells: tuple[Cell, ...]
    dropped: dict[Unit, tuple[str, ...]]
    left_out: tuple[str, ...]
    caution: str


def compare(
    rows: Iterable[Mapping[str, Any]],
    *,
    metrics: Sequence[str],
    control: str = "slova",
    methods: Sequence[str] | None = None,
    alpha: float = 0.05,
) -> Comparison:
    """Compares the methods of result rows on the cells that all of them have, at the same seeds.

    A method with a variant is called "method variant". Of several metrics, the mean rank over them is ranked again, so
    that a cell stays one row. Without `methods`: all that share a cell with the control.
    """
    if isinstance(metrics, str) or not metrics:
        raise ValueError(f"metrics {metrics!r} are not a list of names")
    found = _read(rows, metrics)
    names, left_out = _named(found, control, methods)
    units, dropped = _complete(found, names)
    cells = sorted({cell for cell, _ in units})
    if len(cells) < 2:
        fewest = min(names, key=lambda name: len(found[name]))
        raise ValueError(
            f"2 cells or more are needed in which no method is missing, not {len(cells)}; {fewest} has fewest"
        )

    def verdict(values: Floats) -> Verdict:
        table = _mean_over_metrics(values, metrics)
        means = dict(zip(names, ranks(table).mean(0).tolist(), strict=True))
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


def bonferroni_dunn(mean_ranks: Mapping[str, float], cells: int, *, control: str, alpha: float = 0.05) -> Distance:
    """The distance z(1 - alpha / (2 (k - 1))) sqrt(k (k + 1) / (6 N)), with the exact quantile z.

    >>> round(bonferroni_dunn({"slova": 1.4, "acet": 2.1, "softmax": 2.5}, 12, control="slova").distance, 3)
    0.915
    """
    from scipy.special import ndtri

    k = len(mean_ranks)
    _wanted(cells, k)
    if control not in mean_ranks:
        raise ValueError(f"control {control!r} is none of {', '.join(mean_ranks)}")
    if not 0 < alpha < 1:
        raise ValueError(f"alpha {alpha} is not between 0 and 1")
    distance = -float(ndtri(alpha / (2 * (k - 1)))) * math.sqrt(k * (k + 1) / (6 * cells))
    return Distance(dict(sorted(mean_ranks.items(), key=lambda item: item[1])), control, cells, alpha, distance)


def friedman(values: ArrayLike, *, ties: bool = True) -> Friedman:
    """Whether k methods differ over N cells; `ties=False` leaves out the correction for ties, as Demšar's formula does.

    The direction does not matter. Twice the ranks are integers, so unanimity (F infinite) is recognised exactly.
    """
    from scipy.special import chdtrc, fdtrc

    table = ranks(values)
    cells, k = table.shape
    centred = 2 * table - (k + 1)
    between = float((centred.sum(0) ** 2).sum())
    whole = cells * float((centred**2).sum() if ties else cells * k * (k * k - 1) // 3)
    agreement = between / whole if whole else 0.0  # Kendall's W; everything tied everywhere is no agreement
    chi2 = cells * (k - 1) * agreement
    f = (cells - 1) * between / (whole - between) if whole > between else (math.inf if whole else 0.0)
    return Friedman(chi2, float(chdtrc(k - 1, chi2)), f, float(fdtrc(k - 1, (k - 1) * (cells - 1), f)))


def ranks(values: ArrayLike, *, larger: bool = False) -> Floats:
    """Ranks (N, k) of values (N, k) within each row; the smallest value is the best, or with `larger` the largest.

    >>> ranks([[0.1, 0.3, 0.3], [0.2, 0.1, 0.4]]).tolist()
    [[1.0, 2.5, 2.5], [2.0, 1.0, 3.0]]
    """
    table = np.asarray(values, dtype=np.float64)
    if table.ndim != 2:
        raise ValueError(f"values {table.shape} are not (cells, methods)")
    _wanted(*table.shape)
    if np.isnan(table).any():
        row, column = np.argwhere(np.isnan(table))[0]
        raise ValueError(f"values are NaN in cell {row} of method {column}: a missing value has no rank")
    signed = -table if larger else table
    mine, others = signed[:, :, None], signed[:, None, :]
    return np.asarray(((others < mine).sum(-1) + (others <= mine).sum(-1) + 1) / 2)


def _wanted(cells: int, methods: int) -> None:
    if methods < 2:
        raise ValueError(f"a comparison needs 2 methods or more, not {methods}")
    if cells < 2:
        raise ValueError(f"a comparison needs 2 cells or more, not {cells}")


def _read(rows: Iterable[Mapping[str, Any]], metrics: Sequence[str]) -> dict[str, Units]:
    """What every method has: the cells and seeds at which all metrics are there."""
    values: dict[str, dict[Unit, dict[str, float]]] = {}
    for row in rows:
        if row["metric"] not in metrics:
            continue
        name = f"{row['method']} {row['variant']}".strip()
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
    """The methods to compare, and those that share nothing with the control."""
    for name in (control, *(methods or ())):
        if not found.get(name):
            raise ValueError(f"{name!r} has no such rows; there are {', '.join(sorted(found)) or 'none at all'}")
    if methods is not None:
        return sorted({control, *methods}), ()
    near = [name for name in sorted(found) if not found[name].keys().isdisjoint(found[control])]
    return near, tuple(sorted(found.keys() - set(near)))


def _complete(found: Mapping[str, Units], names: Sequence[str]) -> tuple[list[Unit], dict[Unit, tuple[str, ...]]]:
    """What all methods have, and for the rest which methods lack it."""
    seen = {unit for name in names for unit in found[name]}
    lacking = {unit: tuple(name for name in names if unit not in found[name]) for unit in sorted(seen)}
    return [unit for unit in lacking if not lacking[unit]], {unit: those for unit, those in lacking.items() if those}


def _mean_over_metrics(values: Floats, metrics: Sequence[str]) -> Floats:
    """values (N, metrics, k) to mean ranks (N, k)."""
    larger = [metric.partition("_")[0] in LARGER_IS_BETTER for metric in metrics]
    return np.asarray(np.mean([ranks(values[:, index], larger=up) for index, up in enumerate(larger)], axis=0))


def _caution(cells: Sequence[Cell]) -> str:
    sets = len({(cell.train, cell.test) for cell in cells})
    if sets == len(cells):
        return ""
    what = "pair" if sets == 1 else "pairs"
    return f"{len(cells)} cells of {sets} {what} of sets are not independent: p-values and distances are too small"
