"""Groups of methods and of test sets in the tables of recipes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from slova_bench.frame import Frame, where
from slova_bench.labels import PAPER_SHIFTS, look
from slova_bench.tables.assembly import methods_table
from slova_bench.tables.table import Column, Table, text

__all__ = ["ENSEMBLES", "GROUPS", "REAL", "VIEWS", "grouped_table", "ood_groups", "paper_shifts", "real"]

ENSEMBLES, VIEWS = "ensemble", "several views"
GROUPS = (
    "image recipe", "same augmentation", "without mixing", "same outliers", "published", "no augmentation",
    ENSEMBLES, VIEWS,
)  # fmt: skip
NEAR = {"cifar10": ("cifar100-test", "tinyimagenet-test"), "cifar100": ("cifar10-test", "tinyimagenet-test")}
NOISE = ("uniform", "permuted", "low_pass")
REAL = "real OOD"


def paper_shifts(rows: Frame) -> tuple[str, ...]:
    """The shifts of the paper that have rows; all shifts where none of them has."""
    every = tuple(shift for shift in rows["shift"].unique() if shift)
    return tuple(shift for shift in every if shift in PAPER_SHIFTS) or every


def ood_groups(rows: Frame, on: str) -> dict[str, Frame]:
    """The rows of near and far OOD sets, and of noise."""
    near = rows["test"].isin(NEAR.get(on, ()))
    return {"near OOD": rows[near], "far OOD": real(rows[~near], on), "noise": where(rows, test=NOISE)}


def real(rows: Frame, on: str) -> Frame:
    """The rows of the OOD sets that are no noise."""
    return rows[~rows["test"].isin([*NOISE, f"{on}-test"])]


def grouped_table(
    name: str, title: str, columns: Sequence[Column], *, notes: Iterable[str] = (), aside: bool = False
) -> Table:
    """A table with one row per method, group by group, and a column with the group."""
    names = {name for column in columns for name in column.entries}
    groups = Column("Group", entries={name: text(look(name[0]).group) for name in names})
    found = methods_table(name, title, [groups, *columns], notes=notes, aside=aside)
    return replace(found, rows=tuple(sorted(found.rows, key=lambda row: GROUPS.index(row[1].text))))
