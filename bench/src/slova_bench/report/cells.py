"""Rows as columns of means over seeds, compact enough for a page."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from slova_bench import labels
from slova_bench.frame import NAME, SET, Frame, over_seeds
from slova_bench.report.series import Series

__all__ = ["columns", "in_place", "spots"]

DIGITS = 5


def columns(rows: Frame, index: Mapping[Series, int]) -> dict[str, Any]:
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


def in_place(found: Frame, index: Mapping[Series, int]) -> Frame:
    """Ordered by series, then by place."""
    order = [index[Series(*name)] for name in zip(found["method"], found["variant"], strict=True)]
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
