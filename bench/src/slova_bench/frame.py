"""Rows as a table: one DataFrame, one selection and one group-by for tables, figures, pages and claims.

The columns are those of a row, and `variant`. A method and its variant are a name; a test set under a shift at a level
is a set. A column of a table is name -> seed -> value.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import partial
from typing import Any, Literal, TypeAlias

import numpy as np
import pandas as pd

from slova_bench import labels
from slova_bench.histograms import Histogram
from slova_bench.results import TEXT, Row, variant

__all__ = [
    *("NAME", "QUARTILES", "SET", "Column", "Frame", "Name", "frame", "grouped"),
    *("histogram_frame", "names", "of", "over_seeds", "per_seed", "quartiles", "seed_counts"),
    *("shift_groups", "sizes", "total", "where"),
]

Frame: TypeAlias = pd.DataFrame
Name = tuple[str, str]  # a method and its variant
Column = dict[Name, dict[int, float]]  # to a value per seed
BLANK = Row("", "", "", "", "", "", 0.0, 0, 0, "", 0.0, "", 0.0)  # for the types of the columns of no rows
NAME, SET = ["method", "variant"], ["test", "shift", "level"]
QUARTILES = (25, 50, 75)
SIDES: tuple[Literal["lower"], Literal["higher"]] = ("lower", "higher")


def frame(rows: Iterable[Any] | Frame) -> Frame:
    """Rows as a table, with what distinguishes the variants of a method as a column. Texts are Python's: from
    columns of Arrow it takes twice the time to select."""
    if isinstance(rows, pd.DataFrame):
        return rows
    found = pd.DataFrame(list(rows) or [BLANK]).astype(dict.fromkeys(TEXT, object))
    return found.assign(variant=pd.Series(_variants(found), dtype=object))[found["experiment"] != ""]


def histogram_frame(histograms: Iterable[Histogram]) -> Frame:
    """A histogram per line, the columns of its cell and `bins` (3, 100): predictions, hits, and sums of confidence."""
    found = list(histograms)
    cells = pd.DataFrame([one.cell for one in found], columns=list(Row._fields[:-2]))
    return cells.assign(variant=_variants(cells), bins=pd.Series([one.bins for one in found], dtype=object))


def where(rows: Frame, **columns: Any) -> Frame:
    """The rows with these values, each of which may be a list or a set: `where(rows, metric="ece", shift="")`."""
    for name, value in columns.items():
        one = isinstance(value, str) or not isinstance(value, Iterable)
        rows = rows[rows[name] == value if one else rows[name].isin(list(value))]
    return rows


def grouped(rows: Frame, *by: str, **statistics: Any) -> Frame:
    """The group-by of everything that is shown: a line per name and `by`, with these statistics of the values."""
    with np.errstate(invalid="ignore"):  # of infinite losses
        return rows.groupby([*NAME, *by])["value"].agg(**statistics).reset_index()


def names(rows: Frame) -> list[Name]:
    """Methods with their variants, in the order of every legend."""
    return labels.in_order(rows[NAME].drop_duplicates().itertuples(index=False, name=None))


def of(rows: Frame, found: Collection[Name]) -> Frame:
    """The rows of these methods."""
    return rows[np.array([name in found for name in rows[NAME].itertuples(index=False, name=None)], dtype=bool)]


def per_seed(rows: Frame, statistic: Any = "mean", *, whole: bool = False) -> Column:
    """A statistic over the sets, of each method at each seed; with `whole`, at the seeds that have every set."""
    return _columns(rows, whole, value=statistic)["value"]


def over_seeds(rows: Frame, *by: str) -> Frame:
    """Per name, set and metric: the mean over seeds as `value`, its standard error (NaN with one seed), the least, the
    greatest and the number of values. `by` are further columns to group by."""
    statistics = {"value": "mean", "error": "sem", "least": "min", "most": "max", "seeds": "count"}
    return grouped(rows, *SET, *by, "metric", **statistics)


def shift_groups(rows: Frame) -> list[tuple[str, ...]]:
    """The shifts of the paper (see `labels.paper_shifts`), and all shifts where there are more."""
    found = {*rows["shift"].unique()} - {""}
    paper = labels.paper_shifts(found)
    return [paper, tuple(sorted(found))] if set(paper) < found else [paper]


def seed_counts(rows: Frame, *by: str) -> Any:
    """The number of seeds in each group, as a Series."""
    return rows.groupby(list(by))["seed"].nunique()


def sizes(rows: Frame) -> tuple[int, dict[tuple[Name, int], int]]:
    """The number of sets, and how many of them each method has at each seed."""
    counts = per_seed(rows, "size")
    found = {(name, seed): int(count) for name, seeds in counts.items() for seed, count in seeds.items()}
    return len(rows[SET].drop_duplicates()), found


def quartiles(rows: Frame, metric: str, shifts: Collection[str]) -> dict[int, Column]:
    """Quartiles over the clean set and these shifts, for the seeds that have every set."""
    own = where(rows, metric=metric, shift=["", *shifts])
    found = _columns(own, True, **{str(share): partial(_percentile, share=share) for share in QUARTILES})
    return {share: found[str(share)] for share in QUARTILES}


def total(histograms: Frame) -> Any:
    """The bins (3, 100) of all histograms together."""
    return np.sum(histograms["bins"].tolist(), axis=0)


def _columns(rows: Frame, whole: bool, **statistics: Any) -> dict[str, Column]:
    found, columns = grouped(rows, "seed", sets="size", **statistics), {name: Column() for name in statistics}
    every = len(rows[SET].drop_duplicates()) if whole else 0
    for method, own, seed, sets, *values in found.itertuples(index=False, name=None):
        for column, value in zip(columns.values(), values, strict=True):
            if sets >= every:
                column.setdefault((method, own), {})[int(seed)] = float(value)
    return columns


def _percentile(values: Any, share: int) -> float:
    """Linear interpolation as in numpy, where one or both neighbours may be infinite."""
    values = np.asarray(values)
    if np.isfinite(values).all():
        return float(np.percentile(values, share))
    below, above = (float(np.percentile(values, share, method=side)) for side in SIDES)
    return above if below == above or np.isinf(above) else float(np.percentile(values, share))


def _variants(rows: Frame) -> list[str]:
    parts = (rows[name] for name in ("preset", "parameter", "parameter_value"))
    return [variant(*one) for one in zip(*parts, strict=True)]
