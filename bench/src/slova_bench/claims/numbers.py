"""Numbers as text for judged claims: the best method, the place of a method, lists of values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Sized
from itertools import combinations

import numpy as np

from slova_bench import labels
from slova_bench.frame import Column, Frame, Name, per_seed
from slova_bench.results_folder import MissingRowsError
from slova_bench.tables.assembly import label, shown
from slova_bench.tables.seeds import at_common_seeds, is_tied, mean

__all__ = [
    *("OURS", "agreeing", "before", "best", "common_means", "listed", "means"),
    *("ordinal", "place", "places", "present", "seeds_of", "standing", "tied", "with_value"),
]

OURS: Name = ("slova", "")


def means(column: Column) -> dict[Name, float]:
    return {name: mean(values) for name, values in column.items()}


def common_means(rows: Frame, methods: Sequence[str]) -> dict[Name, float]:
    """The means of these methods over their common seeds; empty if one has no rows."""
    found = at_common_seeds(per_seed(rows), methods)
    return means(found) if len(found) == len(methods) else {}


def tied(column: Column) -> str:
    """`; not distinguished from it: Ensemble`, of SLOVA, or nothing."""
    found = [label(other) for other in column if other != OURS and is_tied(column[OURS], column[other])]
    return f"; not distinguished from it: {'; '.join(found)}" if found else ""


def best(values: Mapping[Name, float], metric: str) -> Name:
    return (max if labels.metric(metric).larger else min)(values, key=lambda name: values[name])


def before(values: Mapping[Name, float], name: Name, metric: str) -> list[Name]:
    """The names with a better value."""
    return [other for other, value in values.items() if labels.is_better(metric, value, values[name])]


def place(values: Mapping[Name, float], name: Name, metric: str) -> str:
    """`2nd of 9`."""
    return f"{ordinal(1 + len(before(values, name, metric)))} of {len(values)}"


def places(column: Column, metric: str) -> tuple[list[int], str]:
    """How many methods are better than SLOVA at each seed, and its places as text: `2nd, 3rd at 2 seeds`."""
    seeds = [{name: values[seed] for name, values in column.items()} for seed in column[OURS]]
    ahead = [len(before(values, OURS, metric)) for values in seeds]
    return ahead, f"{', '.join(ordinal(1 + number) for number in ahead)} at {seeds_of(seeds)}"


def ordinal(number: int) -> str:
    """`1st`, `11th`."""
    return f"{number}{'th' if number in (11, 12, 13) else {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th')}"


def standing(values: Mapping[Name, float], metric: str) -> str:
    """The best method and the place of SLOVA: `Ensemble 0.024, SLOVA 0.027 (2nd of 9)`."""
    named = [name for name in dict.fromkeys((best(values, metric), OURS)) if name in values]
    words = ", ".join(with_value(name, values[name], metric) for name in named)
    return f"{words} ({place(values, OURS, metric)})" if OURS in values else words


def with_value(name: Name, value: float, metric: str) -> str:
    return f"{label(name)} {shown(metric, value).text}"


def seeds_of(found: Sized) -> str:
    """`1 seed`, `3 seeds`."""
    return f"{len(found)} seed{'s' if len(found) > 1 else ''}"


def listed(values: Mapping[Name, float], metric: str) -> str:
    return ", ".join(with_value(name, value, metric) for name, value in values.items())


def agreeing(one: Mapping[Name, float], other: Mapping[Name, float]) -> tuple[int, int]:
    """The number of pairs of methods in the same order in both, and the number of pairs without ties."""
    signs = [
        float(np.sign(one[a] - one[b]) * np.sign(other[a] - other[b]))
        for a, b in combinations(sorted(one.keys() & other.keys()), 2)
    ]
    return sum(sign > 0 for sign in signs), sum(sign != 0 for sign in signs)


def present(there: Iterable[object], wanted: Iterable[str], experiment: str, on: str) -> None:
    """Raise MissingRowsError for methods that were not run: neither they nor their names are there."""
    found = set(there)
    missing = [method for method in wanted if not {method, (method, "")} & found]
    if missing:
        what = f"slova bench run {experiment}{f' --on {on}' if on else ''} --methods {','.join(missing)}"
        raise MissingRowsError(f"there are no rows of {', '.join(missing)}: run {what}")
