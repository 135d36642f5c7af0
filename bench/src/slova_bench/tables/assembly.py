"""Columns of tables with one row per method: measured values, quartiles, numbers of the paper, counts of seeds."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from slova_bench import labels
from slova_bench.frame import QUARTILES, Frame, Name, per_seed, quartiles, where
from slova_bench.frame import Column as Values
from slova_bench.tables import seeds
from slova_bench.tables.table import Column, Entry, Table, number, table, text

__all__ = ["counted", "label", "measured", "methods_table", "of_places", "of_quartiles", "once", "paired", "shown"]

PERCENT = ("accuracy", "error")


def measured(
    metric: str, values: Mapping[Any, Mapping[int, float]], group: str = "", head: str = "", *, judged: bool = True
) -> Column:
    """Mean and standard error over seeds. With `judged` the best are marked; the head is the metric by default."""
    found = seeds.marks(values, larger=labels.metric(metric).larger) if judged else {}
    entries = {
        name: shown(metric, estimate.mean, error=estimate.error, mark=found.get(name, ""))
        for name, own in values.items()
        for estimate in [seeds.estimate(own)]
    }
    return Column(head or labels.head(metric), group, entries)


def of_places(places: Mapping[str, Frame], *metrics: str, whole: bool = False) -> list[Column]:
    """A column for each place, such as "clean", and metric: means over the sets of the place; with `whole` at the seeds
    that have all of them. Without values there is no column."""
    found = [
        (metric, per_seed(where(rows, metric=metric), whole=whole), place)
        for place, rows in places.items()
        for metric in metrics
    ]
    return [measured(metric, values, place) for metric, values, place in found if values]


def of_quartiles(
    rows: Frame,
    metrics: Sequence[str],
    shifts: Collection[str],
    shares: Sequence[int] = QUARTILES,
    *,
    group: str = "",
    judged: bool = True,
) -> list[Column]:
    """The quartiles of each metric over the clean set and these shifts."""
    return [
        measured(metric, found[share], group or labels.head(metric), f"{share} %", judged=judged)
        for metric in metrics
        for found in [quartiles(rows, metric, shifts)]
        for share in shares
    ]


def once(values: Mapping[Name, float]) -> Values:
    """Values without seeds, such as those of the paper."""
    return {name: {0: value} for name, value in values.items()}


def counted(values: Values) -> Column:
    return Column("Seeds", entries={name: text(len(found)) for name, found in values.items()})


def paired(seeds: Mapping[tuple[str, str], int]) -> list[Column]:
    """The first columns of a table with a row for each pair of methods: both, and the number of their seeds."""
    first, second = ({pair: text(label((pair[side], ""))) for pair in seeds} for side in (0, 1))
    counts = {pair: text(count) for pair, count in seeds.items()}
    return [Column("Method", entries=first), Column("Against", entries=second), Column("Seeds", entries=counts)]


def shown(metric: str, value: float, *, error: float | None = None, mark: str = "") -> Entry:
    """An entry with the unit of a metric."""
    return number(value, error=error, mark=mark, percent=metric in PERCENT)


def methods_table(
    name: str, title: str, columns: Sequence[Column], *, notes: Iterable[str] = (), aside: bool = False
) -> Table:
    """A table with one row per method that has an entry in any column."""
    names = labels.in_order({name for column in columns for name in column.entries})
    methods = Column("Method", entries={name: text(label(name)) for name in names})
    return table(name, title, [methods, *columns], names, notes=notes, aside=aside)


def label(name: Name) -> str:
    return labels.look(*name).name
