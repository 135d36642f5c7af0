"""Rows as a table: one DataFrame, and the group-bys of tables, figures, pages and claims.

The columns are those of a row, and `variant`. A method and its variant are a name; a test set under a shift at a level
is a set. A column of a table is name -> seed -> value.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np
import pandas as pd

from slova_bench import labels
from slova_bench.histograms import Histogram
from slova_bench.results import Row, variant

__all__ = [
    *("NAME", "QUARTILES", "SET", "Column", "Frame", "Name", "RowList", "boxes", "by_method", "deviations"),
    *(
        "frame",
        "histogram_frame",
        "mean_over",
        "names",
        "of",
        "over_seeds",
        "quartiles",
        "shift_groups",
        "sizes",
        "total",
    ),
]

Frame: TypeAlias = pd.DataFrame
Name = tuple[str, str]  # a method and its variant
Column = dict[Name, dict[int, float]]  # to a value per seed
BLANK = Row("", "", "", "", "", "", 0.0, 0, 0, "", 0.0, "", 0.0)  # for the types of the columns of no rows
NAME, SET = ["method", "variant"], ["test", "shift", "level"]
BOX = {"least": 0.0, "q25": 0.25, "median": 0.5, "q75": 0.75, "most": 1.0}
QUARTILES = (25, 50, 75)
SIDES: tuple[Literal["lower"], Literal["higher"]] = ("lower", "higher")


class RowList(list[Any]):
    """Rows one by one, as claims select them, with their table."""

    def __init__(self, table: Frame) -> None:
        super().__init__(table.itertuples(index=False))
        self.table = table


def frame(rows: Iterable[Any] | Frame) -> Frame:
    """Rows as a table, with what distinguishes the variants of a method as a column."""
    if isinstance(rows, pd.DataFrame | RowList):
        return rows.table if isinstance(rows, RowList) else rows
    found = pd.DataFrame(list(rows) or [BLANK])
    found = found if "variant" in found else found.assign(variant=_variants(found))
    return found[found["experiment"] != ""]


def histogram_frame(histograms: Iterable[Histogram]) -> Frame:
    """A histogram per line, the columns of its cell and `bins` (3, 100): predictions, hits, and sums of confidence."""
    found = list(histograms)
    cells = pd.DataFrame([one.cell for one in found], columns=list(Row._fields[:-2]))
    bins = [np.array([one.count, one.hits, one.total]) for one in found]
    return cells.assign(variant=_variants(cells), bins=pd.Series(bins, dtype=object))


def names(rows: Frame) -> list[Name]:
    """Methods with their variants, in the order of every legend."""
    return labels.in_order(rows[NAME].drop_duplicates().itertuples(index=False, name=None))


def of(rows: Frame, found: Collection[Name]) -> Frame:
    """The rows of these methods."""
    return rows[np.array([name in found for name in rows[NAME].itertuples(index=False, name=None)], dtype=bool)]


def by_method(rows: Iterable[Any] | Frame) -> Column:
    """The mean over sets of each method at each seed."""
    return _column(frame(rows).groupby([*NAME, "seed"], sort=False)["value"].mean())


def over_seeds(rows: Frame, *by: str) -> Frame:
    """Per name, set and metric: the mean over seeds as `value`, its standard error (NaN with one seed), the least, the
    greatest and the number of values. `by` are further columns to group by."""
    groups = rows.groupby([*NAME, *SET, *by, "metric"])["value"]
    with np.errstate(invalid="ignore"):  # of infinite losses
        found = groups.agg(value="mean", error="sem", least="min", most="max", seeds="count")
    return found.reset_index()


def mean_over(rows: Iterable[Any] | Frame, methods: Sequence[str]) -> dict[Name, float]:
    """The mean of each method over the sets and seeds that all methods have."""
    wanted = [(method, "") for method in methods]
    table = of(frame(rows), wanted).pivot(index=[*SET, "seed"], columns=NAME, values="value").dropna()
    whole = len(table) > 0 and len(table.columns) == len(wanted)
    return {name: float(table[name].mean()) for name in wanted} if whole else {}


def boxes(rows: Frame, by: list[str]) -> Frame:
    """The quartiles and extremes of the values in each group."""
    shares = rows.groupby(by)["value"].quantile(list(BOX.values())).unstack()
    return shares.set_axis(list(BOX), axis=1).reset_index()


def shift_groups(rows: Iterable[Any] | Frame) -> list[tuple[str, ...]]:
    """The shifts of the paper (see `labels.paper_shifts`), and all shifts where there are more."""
    found = {*frame(rows)["shift"].unique()} - {""}
    paper = labels.paper_shifts(found)
    return [paper, tuple(sorted(found))] if set(paper) < found else [paper]


def sizes(rows: Iterable[Any] | Frame, metric: str, shifts: Collection[str]) -> tuple[int, dict[tuple[Name, int], int]]:
    """The number of sets, clean and under these shifts, and how many of them each method has at each seed."""
    own = _under(frame(rows), metric, shifts)
    counts = own.groupby([*NAME, "seed"], sort=False).size()
    return len(own[SET].drop_duplicates()), {(key[:2], int(key[2])): int(count) for key, count in counts.items()}


def quartiles(rows: Iterable[Any] | Frame, metric: str, shifts: Collection[str]) -> dict[int, Column]:
    """Quartiles over the clean set and these shifts, for the seeds that have every set."""
    own = _under(frame(rows), metric, shifts)
    groups = own.groupby([*NAME, "seed"])["value"]
    whole = own[groups.transform("size") == len(own[SET].drop_duplicates())]
    values = whole.groupby([*NAME, "seed"], sort=False)["value"]
    return {share: _column(values.agg(_percentile, share=share)) for share in QUARTILES}


def deviations(rows: Iterable[Any] | Frame, metric: str, shifts: Collection[str]) -> Column:
    """The standard deviation over the clean set and these shifts."""
    return _column(_under(frame(rows), metric, shifts).groupby([*NAME, "seed"], sort=False)["value"].std(ddof=0))


def total(histograms: Frame) -> Any:
    """The bins (3, 100) of all histograms together."""
    return np.sum(histograms["bins"].tolist(), axis=0)


def _under(rows: Frame, metric: str, shifts: Collection[str]) -> Frame:
    return rows[(rows["metric"] == metric) & rows["shift"].isin(["", *shifts])]


def _percentile(values: Any, share: int) -> float:
    """Linear interpolation as in numpy, where one or both neighbours may be infinite."""
    below, above = (float(np.percentile(values, share, method=side)) for side in SIDES)
    return above if below == above or np.isinf(above) else float(np.percentile(values, share))


def _column(values: Any) -> Column:
    column: Column = {}
    for (method, own, seed), value in values.items():
        column.setdefault((method, own), {})[int(seed)] = float(value)
    return column


def _variants(rows: Frame) -> list[str]:
    parts = (rows[name] for name in ("preset", "parameter", "parameter_value"))
    return [variant(*one) for one in zip(*parts, strict=True)]
