"""Assembly of tables: one row per method, with measured values next to those of the paper."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from slova_bench import labels
from slova_bench.frame import Column as Values
from slova_bench.frame import Name
from slova_bench.labels import in_order
from slova_bench.tables import seeds
from slova_bench.tables.seeds import estimate
from slova_bench.tables.table import NOTHING, Column, Entry, Table, number, text

__all__ = ["Part", "counted", "from_paper", "label", "measured", "methods_table", "of_metric", "of_quartiles", "shown"]

PERCENT = ("accuracy", "error")


@dataclass(frozen=True)
class Part:
    """One column with its entries; methods without an entry show `missing`."""

    column: Column
    entries: Mapping[Name, Entry]
    missing: str = NOTHING


def of_metric(metric: str, values: Values, group: str = "") -> Part:
    """A metric, with the arrow of its better direction in the head."""
    return measured(Column(labels.head(metric), group), metric, values)


def of_quartiles(found: Mapping[str, Mapping[int, Values]]) -> list[Part]:
    """The quartiles of each metric."""
    return [
        measured(Column(f"{share} %", labels.head(metric)), metric, values)
        for metric, by_share in found.items()
        for share, values in by_share.items()
    ]


def measured(column: Column, metric: str, values: Values, *, judged: bool = True) -> Part:
    """Mean and standard error over seeds. With `judged` the best are marked."""
    marks = seeds.marks(values, larger=labels.metric(metric).larger) if judged else {}
    means = {name: estimate(found) for name, found in values.items()}
    entries = {name: shown(metric, e.mean, error=e.error, mark=marks.get(name, "")) for name, e in means.items()}
    return Part(column, entries)


def from_paper(column: Column, metric: str, values: Mapping[Name, float]) -> Part:
    """The values of the paper. The best is marked; ties are not."""
    column = Column(column.name, column.group, paper=True)
    marks = seeds.marks({name: {0: value} for name, value in values.items()}, larger=labels.metric(metric).larger)
    return Part(column, {name: shown(metric, value, mark=marks.get(name, "")) for name, value in values.items()})


def counted(values: Values) -> Part:
    return Part(Column("Seeds"), {name: text(len(found)) for name, found in values.items()})


def shown(metric: str, value: float, *, error: float | None = None, mark: str = "") -> Entry:
    """An entry with the digits and unit of a metric."""
    return number(value, error=error, mark=mark, digits=labels.metric(metric).digits, percent=metric in PERCENT)


def methods_table(
    name: str, title: str, parts: Sequence[Part], *, notes: Iterable[str] = (), aside: bool = False
) -> Table:
    """A table with one row per method that has an entry in any part."""
    names = in_order({name for part in parts for name in part.entries})
    rows = [(text(label(name)), *(part.entries.get(name, Entry(part.missing)) for part in parts)) for name in names]
    columns = (Column("Method"), *(part.column for part in parts))
    return Table(name, title, columns, tuple(rows), tuple(note for note in notes if note), aside)


def label(name: Name) -> str:
    return labels.look(*name).name
