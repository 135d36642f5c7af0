"""Rows as columns of means over seeds, compact enough for a page."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from slova_bench import labels
from slova_bench.histograms import Histogram
from slova_bench.report.series import Series
from slova_bench.results import Row

__all__ = ["Place", "columns", "places_of", "spots"]

DIGITS = 5


class Place(NamedTuple):
    """What identifies a number, apart from its seed."""

    series: Series
    test: str
    shift: str
    level: float

    @classmethod
    def of(cls, cell: Any) -> Place:
        """The place of a row or of the cell of a histogram."""
        return cls(Series(cell.method, cell.variant), cell.test, cell.shift, float(cell.level))


def columns(rows: Iterable[Row], index: Mapping[Series, int]) -> dict[str, Any]:
    """Places as columns and, per metric, mean and standard error over seeds (None with one seed)."""
    found: dict[Place, dict[str, list[float]]] = {}
    for row in rows:
        found.setdefault(Place.of(row), {}).setdefault(row.metric, []).append(row.value)
    places = sorted(found, key=lambda place: (index[place.series], *place[1:]))
    return {
        **spots(places, index),
        "seeds": [max(len(values) for values in found[place].values()) for place in places],
        "metrics": {name: _metric([found[place].get(name, []) for place in places]) for name in _metrics(found)},
    }


def spots(places: Sequence[Place], index: Mapping[Series, int]) -> dict[str, Any]:
    """Places as columns; tests and shifts by their index in a list."""
    tests = list(dict.fromkeys(place.test for place in places))
    shifts = list(dict.fromkeys(place.shift for place in places))
    return {
        "tests": tests,
        "shifts": shifts,
        "series": [index[place.series] for place in places],
        "test": [tests.index(place.test) for place in places],
        "shift": [shifts.index(place.shift) for place in places],
        "level": [_short(place.level) for place in places],
    }


def places_of(histograms: Iterable[Histogram]) -> dict[Place, list[Histogram]]:
    """The histograms of all seeds by place."""
    found: dict[Place, list[Histogram]] = {}
    for histogram in histograms:
        found.setdefault(Place.of(histogram.cell), []).append(histogram)
    return found


def _metrics(found: Mapping[Place, Mapping[str, object]]) -> list[str]:
    """The metrics present, in the order of every table."""
    there = dict.fromkeys(metric for values in found.values() for metric in values)
    known = [name for name in labels.METRICS if name in there]
    return known + [name for name in there if name not in known]


def _metric(values: Sequence[Sequence[float]]) -> dict[str, list[float | None]]:
    return {"mean": [_mean(found) for found in values], "error": [_error(found) for found in values]}


def _mean(values: Sequence[float]) -> float | None:
    return _short(math.fsum(values) / len(values)) if values else None


def _error(values: Sequence[float]) -> float | None:
    """The standard error of the mean."""
    if len(values) < 2:
        return None
    mean = math.fsum(values) / len(values)
    return _short(math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1) / len(values)))


def _short(value: float) -> float | None:
    """Five digits; NaN and infinity become None, as JSON requires."""
    if not math.isfinite(value):
        return None
    short = float(f"{value:.{DIGITS}g}")
    return int(short) if short.is_integer() else short
