"""Groups of methods and of test sets in the tables of recipes, by their names."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from slova_bench.frame import Frame, where
from slova_bench.labels import PAPER_SHIFTS
from slova_bench.tables.assembly import methods_table
from slova_bench.tables.table import Column, Table, text

__all__ = [
    *("ENSEMBLES", "GROUPS", "REAL", "VIEWS", "augmentation_of", "group_of", "grouped_table", "ood_groups"),
    *("paper_shifts", "real"),
]

RECIPE, AUGMENTED, UNMIXED, OUTLIERS = "image recipe", "same augmentation", "without mixing", "same outliers"
PUBLISHED, PLAIN, ENSEMBLES, VIEWS = "published", "no augmentation", "ensemble", "several views"
GROUPS = (RECIPE, AUGMENTED, UNMIXED, OUTLIERS, PUBLISHED, PLAIN, ENSEMBLES, VIEWS)
SAME = "softmax_augmented"
CALIBRATED = ("", "degraded", "fit")  # of softmax with the degraded images; what else is made of it is published

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


def group_of(method: str) -> str:
    """The group of a method; unknown ones are published methods.

    >>> group_of("softmax_mixed_degraded"), group_of("softmax_augmented_dac"), group_of("slova_image_flip")
    ('same augmentation', 'published', 'several views')
    """
    if "ensemble" in method:
        return ENSEMBLES
    if method.endswith(("_flip", "_turns", "_mirror")):
        return VIEWS
    if method.endswith(("_none_class", "_exposed")):
        return OUTLIERS
    if method.startswith(("slova_image_mixed", "softmax_mixed")):
        return RECIPE if method.startswith("slova") else AUGMENTED
    if method.startswith("slova_image"):
        return UNMIXED
    if method.startswith(SAME):
        return UNMIXED if method.removeprefix(SAME).lstrip("_") in CALIBRATED else PUBLISHED
    return PLAIN if method.startswith(("temperature", "softmax", "ova", "slova", "retrofit")) else PUBLISHED


def augmentation_of(method: str) -> str:
    """The images that a network was trained with, of which methods on equal terms have the same.

    >>> augmentation_of("softmax_mixed_ensemble"), augmentation_of("softmax_exposed"), augmentation_of("augmix")
    ('mixed', 'degraded', 'its own')
    """
    if "_mixed" in method:
        return "mixed"
    return (
        "degraded" if method.startswith(("slova_image", SAME, "softmax_none_class", "softmax_exposed")) else "its own"
    )


def grouped_table(
    name: str, title: str, columns: Sequence[Column], *, notes: Iterable[str] = (), aside: bool = False
) -> Table:
    """A table with one row per method, group by group, and a column with the group."""
    names = {name for column in columns for name in column.entries}
    groups = Column("Group", entries={name: text(group_of(name[0])) for name in names})
    found = methods_table(name, title, [groups, *columns], notes=notes, aside=aside)
    return replace(found, rows=tuple(sorted(found.rows, key=lambda row: GROUPS.index(row[1].text))))
