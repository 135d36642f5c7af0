"""Assembly of tables: one row per method, with measured values next to those of the paper."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from slova_bench import labels
from slova_bench.frame import Name, by_method
from slova_bench.labels import in_order
from slova_bench.tables import seeds
from slova_bench.tables.seeds import estimate
from slova_bench.tables.table import NOTHING, Column, Entry, Table, number, text

__all__ = ["Part", "by_method", "counted", "from_paper", "in_order", "label", "measured", "methods_table", "shown"]

PERCENT = ("accuracy", "error")


@dataclass(frozen=True)
class Part:
    """One column with its entries; methods without an entry show `missing`."""

    column: Column
    entries: Mapping[Name, Entry]
    missing: str = NOTHING


def measured(column: Column, metric: str, values: seeds.Column, *, judged: bool = True) -> Part:
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


def counted(values: seeds.Column) -> Part:
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
