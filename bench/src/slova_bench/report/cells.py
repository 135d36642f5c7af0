"""Panels as data of the page: means over seeds, histograms, ranks and planes, compact enough for a file."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from slova.report.bins import bin_columns
from slova_bench import labels
from slova_bench.compare import compare
from slova_bench.exhibit import Exhibit
from slova_bench.frame import NAME, SET, Frame, Name, grouped, over_seeds, total, where
from slova_bench.panels import CONFIDENT, Source
from slova_bench.report.series import key

__all__ = ["columns", "content"]

DIGITS = 5
CONTROL = "slova"


def content(exhibit: Exhibit, found: Source, index: Mapping[Name, int]) -> dict[str, Any]:
    """A panel as data of the page."""
    shown = {
        "id": f"{found.experiment}-{found.on}",
        "experiment": found.experiment,
        "on": found.on,
        "chart": found.chart,
        "title": exhibit.title,
        "about": exhibit.about,
        "missing": found.missing,
    }
    return shown if found.missing else {**shown, **_numbers(found, index)}


def _numbers(found: Source, index: Mapping[Name, int]) -> dict[str, Any]:
    if found.chart == "variants":
        return {"cells": _variants(found.rows, index)}
    probable = found.histograms[~found.histograms["method"].isin(labels.SCORES)]
    return {
        "cells": columns(found.rows, index),
        "histograms": _histograms(probable, index) if len(probable) and found.experiment in CONFIDENT else None,
        "ranks": {metric: ranked for metric in found.ranked if (ranked := _ranks(found, metric, index))},
        "planes": _planes(found.planes, index),
    }


def _variants(rows: Frame, index: Mapping[Name, int]) -> dict[str, Any]:
    """The parameter as the axis: its name as shift, its value as level; without one, a horizontal line."""
    names = rows["parameter"].where(rows["parameter"] != "", "optimal")
    return columns(rows.assign(variant=rows["preset"], shift=names, level=rows["parameter_value"]), index)


def _histograms(histograms: Frame, index: Mapping[Name, int]) -> dict[str, Any]:
    """The histograms of each place, all seeds together."""
    groups = histograms.groupby([*NAME, *SET])
    found = in_place(groups.size().index.to_frame(index=False), index)
    bins = [total(groups.get_group(key)) for key in found[[*NAME, *SET]].itertuples(index=False, name=None)]
    return {**spots(found), **bin_columns(bins)}


def _ranks(found: Source, metric: str, index: Mapping[Name, int]) -> dict[str, Any] | None:
    """Mean ranks over all cells of means over seeds; None if nothing can be compared with the control."""
    rows = where(found.rows, metric=metric)
    if found.experiment == "ood":
        rows = rows[rows["test"] != f"{found.on}-test"]
    if metric == "mmc":
        rows = rows[~rows["method"].isin(labels.SCORES)]  # which have no confidence of their own
    try:
        compared = compare(rows, metrics=[metric], control=CONTROL)
    except ValueError:
        return None
    pooled, numbers = compared.pooled, {key(name): place for name, place in index.items()}
    return {
        "ranks": [[numbers[name], round(rank, 3)] for name, rank in pooled.mean_ranks.items()],
        "control": numbers[CONTROL],
        "distance": round(pooled.distance, 3),
        "rejects": pooled.rejects,
        "p": pooled.p,
        "cells": len(compared.cells),
        "caution": compared.caution,
    }


def _planes(planes: Frame, index: Mapping[Name, int]) -> list[dict[str, Any]]:
    """One picture per method, the mean over seeds."""
    if not len(planes):
        return []
    means = grouped(planes, "alpha", "beta", value="mean").round({"value": 3})
    found = {index[name]: one[["alpha", "beta", "value"]] for name, one in means.groupby(NAME)}
    return [{"series": place, "points": found[place].to_numpy().tolist()} for place in sorted(found)]


def columns(rows: Frame, index: Mapping[Name, int]) -> dict[str, Any]:
    """Places as columns and, per metric, mean and standard error over seeds (None with one seed)."""
    means = over_seeds(rows)
    places = in_place(means[[*NAME, *SET]].drop_duplicates(), index)
    order = list(places[[*NAME, *SET]].itertuples(index=False, name=None))
    value, error, seeds = (
        means.pivot(index=[*NAME, *SET], columns="metric", values=part).loc[order]
        for part in ("value", "error", "seeds")
    )
    return {
        **spots(places),
        "seeds": seeds.max(axis=1).astype(int).tolist(),
        "metrics": {
            name: {"mean": _shortened(value[name]), "error": _shortened(error[name])} for name in _metrics(value)
        },
    }


def in_place(found: Frame, index: Mapping[Name, int]) -> Frame:
    """Ordered by series, then by place."""
    order = [index[name] for name in zip(found["method"], found["variant"], strict=True)]
    return found.assign(series=order).sort_values(["series", *SET])


def spots(found: Frame) -> dict[str, Any]:
    """Places as columns; tests and shifts by their index in a list."""
    tests, shifts = (list(dict.fromkeys(found[name])) for name in ("test", "shift"))
    return {
        "tests": tests,
        "shifts": shifts,
        "series": found["series"].tolist(),
        "test": found["test"].map(tests.index).tolist(),
        "shift": found["shift"].map(shifts.index).tolist(),
        "level": _shortened(found["level"]),
    }


def _metrics(there: Iterable[str]) -> list[str]:
    """The metrics present, in the order of every table."""
    found = list(there)
    known = [name for name in labels.METRICS if name in found]
    return known + [name for name in found if name not in known]


def _shortened(values: Iterable[float]) -> list[float | None]:
    return [_short(value) for value in values]


def _short(value: float) -> float | None:
    """Five digits; NaN and infinity become None, as JSON requires."""
    if not math.isfinite(value):
        return None
    short = float(f"{value:.{DIGITS}g}")
    return int(short) if short.is_integer() else short
