"""Rows as a table: one DataFrame, and the group-bys of tables, figures, pages and claims.

The columns are those of a row, and `variant`. A method and its variant are a name, a test set under a shift is a set.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd

from slova_bench import labels
from slova_bench.histograms import Histogram
from slova_bench.results import Row, variant

__all__ = ["NAME", "SET", "Frame", "Name", "boxes", "frame", "histogram_frame", "names", "over_seeds", "total"]

Frame = pd.DataFrame
Name = tuple[str, str]  # a method and its variant
NAME, SET = ["method", "variant"], ["test", "shift", "level"]
BOX = {"least": 0.0, "q25": 0.25, "median": 0.5, "q75": 0.75, "most": 1.0}


def frame(rows: Iterable[Any] | Frame) -> Frame:
    """Rows as a table, with what distinguishes the variants of a method as a column."""
    if isinstance(rows, pd.DataFrame):
        return rows
    found = pd.DataFrame(list(rows), columns=list(Row._fields))
    return found.assign(variant=_variants(found))


def histogram_frame(histograms: Iterable[Histogram]) -> Frame:
    """A histogram per line, the columns of its cell and `bins` (3, 100): predictions, hits, and sums of confidence."""
    found = list(histograms)
    cells = pd.DataFrame([one.cell for one in found], columns=list(Row._fields[:-2]))
    bins = [np.array([one.count, one.hits, one.total]) for one in found]
    return cells.assign(variant=_variants(cells), bins=pd.Series(bins, dtype=object))


def names(rows: Frame) -> list[Name]:
    """Methods with their variants, in the order of every legend."""
    return labels.in_order(rows[NAME].drop_duplicates().itertuples(index=False, name=None))


def over_seeds(rows: Frame, *by: str) -> Frame:
    """Per name, set and metric: the mean over seeds as `value`, its standard error (NaN with one seed), the least, the
    greatest and the number of values. `by` are further columns to group by."""
    groups = rows.groupby([*NAME, *SET, *by, "metric"])["value"]
    with np.errstate(invalid="ignore"):  # of infinite losses
        found = groups.agg(value="mean", error="sem", least="min", most="max", seeds="count")
    return found.reset_index()


def boxes(rows: Frame, by: list[str]) -> Frame:
    """The quartiles and extremes of the values in each group."""
    shares = rows.groupby(by)["value"].quantile(list(BOX.values())).unstack()
    return shares.set_axis(list(BOX), axis=1).reset_index()


def total(histograms: Frame) -> Any:
    """The bins (3, 100) of all histograms together."""
    return np.sum(histograms["bins"].tolist(), axis=0)


def _variants(rows: Frame) -> list[str]:
    parts = (rows[name] for name in ("preset", "parameter", "parameter_value"))
    return [variant(*one) for one in zip(*parts, strict=True)]
