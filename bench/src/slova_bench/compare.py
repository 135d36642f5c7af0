"""Comparison of methods on rows: complete blocks, per seed and pooled, against a control."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from slova_bench import labels
from slova_bench.frame import Frame, frame
from slova_bench.ranks import Ranking, ranking, ranks

__all__ = ["Cell", "Comparison", "compare"]


class Cell(NamedTuple):
    """One row of the table of ranks."""

    experiment: str
    train: str
    test: str
    shift: str
    level: float


Unit = tuple[Cell, int]  # a cell at a seed
UNIT = [*Cell._fields, "seed"]


@dataclass(frozen=True)
class Comparison:
    """Rankings per seed (with two cells or more), and of the ranks in each cell averaged over seeds.

    `whole` has the rankings of the seeds with every cell, or the pooled one if there is no such seed. The mean ranks of
    the pooled one are the means of theirs. `caution` is a note if the cells are not independent. `dropped`: the methods
    without a cell at a seed.
    """

    per_seed: dict[int, Ranking]
    pooled: Ranking
    cells: tuple[Cell, ...]
    dropped: dict[Unit, tuple[str, ...]]
    caution: str

    @property
    def whole(self) -> list[Ranking]:
        return [one for one in self.per_seed.values() if one.cells == len(self.cells)] or [self.pooled]


def compare(
    rows: Iterable[Mapping[str, Any]] | Frame,
    *,
    metrics: Sequence[str],
    control: str = "slova",
    methods: Sequence[str] | None = None,
    alpha: float = 0.05,
) -> Comparison:
    """Compare methods on the cells and seeds that all of them have.

    A method with a variant is named "method variant". The rank in a cell is the plain mean over metrics and seeds, so
    that a cell stays one row; Friedman's test ranks these means within the cell. The default of `methods` is all that
    share a cell with the control.
    """
    if isinstance(metrics, str) or not metrics:
        raise ValueError(f"metrics must be a list of names, got {metrics!r}")
    table = _table(frame(rows), metrics)
    there = len(metrics) == table.notna().T.groupby(level="name").sum().T  # units by methods
    names = _named(there, control, methods)
    whole = there[names].all(axis=1)
    cells = _cells(whole, there[names])

    values = {metric: table[whole][[(name, metric) for name in names]] for metric in metrics}
    each = [ranks(found, larger=labels.metric(metric).larger) for metric, found in values.items()]
    found = pd.DataFrame(np.mean(each, axis=0), table[whole].index, names)
    every = found.groupby(level="seed").filter(lambda part: len(part) == len(cells))

    def ranked(part: Frame) -> Ranking:
        return ranking(part.to_numpy(), names, control=control, alpha=alpha)

    return Comparison(
        per_seed={int(seed): ranked(part) for seed, part in found.groupby(level="seed") if len(part) > 1},
        pooled=ranked((every if len(every) else found).groupby(level=list(Cell._fields)).mean()),
        cells=tuple(cells),
        dropped=_dropped(there[names]),
        caution=_caution(cells),
    )


def _table(rows: Frame, metrics: Sequence[str]) -> Frame:
    """Values by cell and seed, with a column per method and metric."""
    own = rows[rows["metric"].isin(metrics)]
    own = own.assign(name=(own["method"].astype(str) + " " + own["variant"]).str.strip())
    _check(own)
    return own.pivot(index=UNIT, columns=["name", "metric"], values="value").astype(float)


def _check(rows: Frame) -> None:
    """What would give a wrong number."""
    if (twice := rows.duplicated([*UNIT, "name", "metric"])).any():
        one = rows[twice].iloc[0]
        cell = tuple(one[list(Cell._fields)])
        raise ValueError(f"{one['name']} has two values of {one['metric']} at seed {one['seed']} of {cell}")
    if (missing := rows["value"].isna()).any():
        one = rows[missing].iloc[0]
        where = f"at seed {one['seed']} of {one['test']} {one['shift']}".strip()
        raise ValueError(f"{one['metric']} of {one['name']} is NaN {where}")
    mmc = rows[rows["metric"] == "mmc"]
    if (inside := mmc["train"].str.split("-").str[0] == mmc["test"].str.split("-").str[0]).any():
        test = mmc[inside]["test"].iloc[0]
        raise ValueError(f"mmc on {test} is in-distribution, where less is not better: leave these rows out")


def _named(there: Frame, control: str, methods: Sequence[str] | None) -> list[str]:
    """The methods to compare."""
    found = [name for name in there if there[name].any()]
    for name in (control, *(methods or ())):
        if name not in found:
            raise ValueError(f"{name!r} has no such rows; there are {', '.join(there) or 'none at all'}")
    if methods is not None:
        return sorted({control, *methods})
    return sorted(name for name in found if (there[name] & there[control]).any())


def _dropped(there: Frame) -> dict[Unit, tuple[str, ...]]:
    """For each cell and seed that some methods have and others do not, the methods that lack it."""
    some = there[there.any(axis=1) & ~there.all(axis=1)]
    return {(Cell(*unit[:-1]), int(unit[-1])): tuple(own.index[~own]) for unit, own in some.iterrows()}


def _cells(whole: Any, there: Frame) -> list[Cell]:
    """The cells that all methods have at a seed."""
    cells = sorted({Cell(*unit[:-1]) for unit in whole.index[whole]})
    if len(cells) < 2:
        fewest = there.sum().idxmin()
        raise ValueError(f"at least 2 cells with all methods are needed, got {len(cells)}; {fewest} has the fewest")
    return cells


def _caution(cells: Sequence[Cell]) -> str:
    sets = len({(cell.train, cell.test) for cell in cells})
    if sets == len(cells):
        return ""
    what = "pair" if sets == 1 else "pairs"
    return f"{len(cells)} cells of {sets} {what} of sets are not independent: p-values and distances are too small"
