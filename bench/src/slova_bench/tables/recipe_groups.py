"""Groups of methods and of test sets in the tables of recipes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from slova_bench.frame import Frame
from slova_bench.labels import look
from slova_bench.tables.assembly import methods_table
from slova_bench.tables.table import Column, Table, text

__all__ = ["ENSEMBLES", "GROUPS", "REAL", "VIEWS", "grouped_table", "ood_groups", "real"]

ENSEMBLES, VIEWS = "ensemble", "several views"
GROUPS = (
    "image recipe", "same augmentation", "without mixing", "same outliers", "published", "no augmentation",
    ENSEMBLES, VIEWS,
)  # fmt: skip
NEAR = {"cifar10": ("cifar100-test", "tinyimagenet-test"), "cifar100": ("cifar10-test", "tinyimagenet-test")}
REAL = "real OOD"


def ood_groups(rows: Frame, on: str) -> dict[str, Frame]:
    """The rows of near and far OOD sets, and of noise."""
    near = rows["test"].isin(NEAR.get(on, ()))
    return {"near OOD": rows[near], "far OOD": real(rows[~near], on), "noise": rows[~_is_data(rows)]}


def real(rows: Frame, on: str) -> Frame:
    """The rows of the OOD sets that are no noise."""
    return rows[_is_data(rows) & (rows["test"] != f"{on}-test")]


def _is_data(rows: Frame) -> Any:
    return rows["test"].str.endswith("-test").astype(bool)


def grouped_table(
    name: str, title: str, columns: Sequence[Column], *, notes: Iterable[str] = (), aside: bool = False
) -> Table:
    """A table with one row per method, group by group, and a column with the group."""
    names = {name for column in columns for name in column.entries}
    groups = Column("Group", entries={name: text(look(name[0]).group) for name in names})
    found = methods_table(name, title, [groups, *columns], notes=notes, aside=aside)
    return replace(found, rows=tuple(sorted(found.rows, key=lambda row: GROUPS.index(row[1].text))))
