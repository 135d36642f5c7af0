"""Panels as data of the page: means over seeds, histograms, ranks and planes, as columns compact enough for a file."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd

from slova.report.bins import bin_columns
from slova_bench import labels
from slova_bench.compare import compare
from slova_bench.frame import NAME, SET, Frame, Name, grouped, of, over_seeds, total, where
from slova_bench.panels import CONFIDENT, Source
from slova_bench.tables.ranks import p_value

__all__ = ["columns", "numbers"]

DIGITS = 5
CONTROL = "slova"
RANKED = {"shift": ("ece", "nll", "brier", "accuracy"), "ood": ("mmc", "auroc", "aupr", "fpr95")}
PLACE = ["series", *SET]


def numbers(experiment: str, on: str, found: Source, index: Mapping[Name, int]) -> dict[str, Any]:
    """The numbers of a panel; `index` are the series of the page."""
    rows = found.rows
    if found.chart == "variants":  # the parameter is the axis: its name as shift, its value as level; "" is the optimum
        names = rows["parameter"].where(rows["parameter"] != "", "optimal")
        rows = rows.assign(variant=rows["preset"], shift=names, level=rows["parameter_value"])
        return {"cells": columns(rows, index)}
    inside = experiment == "ood"  # where the test set itself has no rank
    outside = rows[rows["test"] != f"{on}-test"] if inside else rows
    ranks = {metric: _ranks(outside, metric, index) for metric in RANKED.get(experiment, ())}
    drawn = of(found.histograms, found.names)  # a run may be interrupted between histograms and rows
    probable = drawn[~drawn["method"].isin(labels.SCORES)]
    return {
        "cells": columns(rows, index),
        "histograms": _histograms(probable, index) if len(probable) and experiment in CONFIDENT else None,
        "ranks": {metric: ranked for metric, ranked in ranks.items() if ranked},
        "planes": _planes(found.planes, index),
    }


def columns(rows: Frame, index: Mapping[Name, int]) -> dict[str, Any]:
    """Places as columns and, per metric, mean and standard error over seeds (None with one seed)."""
    means = _placed(over_seeds(rows), index).pivot(index=PLACE, columns="metric", values=["value", "error", "seeds"])
    there = list(means["value"])
    metrics = [
        *(name for name in labels.METRICS if name in there),
        *(name for name in there if name not in labels.METRICS),
    ]
    return {
        **_places(means.index),
        "seeds": means["seeds"].max(axis=1).astype(int).tolist(),
        "metrics": {
            name: {"mean": _shortened(means["value"][name]), "error": _shortened(means["error"][name])}
            for name in metrics
        },
    }


def _histograms(histograms: Frame, index: Mapping[Name, int]) -> dict[str, Any]:
    """The histograms of each place, all seeds together."""
    groups = _placed(histograms, index).groupby(PLACE)
    return {**_places(groups.size().index), **bin_columns([total(own) for _, own in groups])}


def _ranks(rows: Frame, metric: str, index: Mapping[Name, int]) -> dict[str, Any] | None:
    """Means over seeds of the mean ranks over all cells; None if nothing can be compared with the control. Variants
    have no rank, as in the tables: they would change those of others, and often have fewer seeds."""
    rows = where(rows, metric=metric)
    rows = rows[~rows["method"].isin(labels.VARIANTS)]
    if metric == "mmc":
        rows = rows[~rows["method"].isin(labels.SCORES)]  # which have no confidence of their own
    try:
        compared = compare(rows, metrics=[metric], control=CONTROL)
    except ValueError:
        return None
    pooled, seeds = compared.pooled, len(compared.whole)
    places = {" ".join(name).strip(): place for name, place in index.items()}
    middle, control = pooled.mean_ranks[CONTROL], labels.look(CONTROL).name
    means = f"means over {seeds} seeds" if seeds > 1 else "one seed"
    caption = (
        f"By {labels.metric(metric).name} over {pooled.cells} sets, {means}, without variants. "
        f'"All methods are equal" {"is" if pooled.rejects else "cannot be"} rejected (Friedman, {p_value(pooled)}). '
        f"Within the band, {pooled.distance:.2f} to either side, a method cannot be distinguished from {control} "
        "(Bonferroni–Dunn)."
    )
    return {
        "ranks": [[places[name], round(rank, 3)] for name, rank in pooled.mean_ranks.items()],
        "control": places[CONTROL],
        "band": [max(1, middle - pooled.distance), min(len(pooled.mean_ranks), middle + pooled.distance)],
        "cells": pooled.cells,
        "caption": f"{caption} Note: {compared.caution}." if compared.caution else caption,
    }


def _planes(planes: Frame, index: Mapping[Name, int]) -> list[dict[str, Any]]:
    """One picture per method, the mean over seeds."""
    if not len(planes):
        return []
    means = _placed(grouped(planes, "alpha", "beta", value="mean").round({"value": 3}), index)
    return [
        {"series": place, "points": own[["alpha", "beta", "value"]].to_numpy().tolist()}
        for place, own in means.groupby("series")
    ]


def _placed(rows: Frame, index: Mapping[Name, int]) -> Frame:
    return rows.assign(series=[index[name] for name in rows[NAME].itertuples(index=False, name=None)])


def _places(found: pd.MultiIndex) -> dict[str, Any]:
    """Places as columns; tests and shifts by their place in a list."""
    series, test, shift, level = (found.get_level_values(name) for name in PLACE)
    (tests, test_names), (shifts, shift_names) = pd.factorize(test), pd.factorize(shift)
    return {
        "tests": list(test_names),
        "shifts": list(shift_names),
        "series": series.tolist(),
        "test": tests.tolist(),
        "shift": shifts.tolist(),
        "level": _shortened(level),
    }


def _shortened(values: Iterable[float]) -> list[float | None]:
    """Five digits; NaN and infinity become None, as JSON requires."""
    return [float(f"{value:.{DIGITS}g}") if math.isfinite(value) else None for value in values]
