"""Recipes on equal terms, one row per method: clean images, shifts, held-out shifts, near and far OOD images, noise."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from slova_bench import labels
from slova_bench.labels import PAPER_SHIFTS
from slova_bench.results import Row
from slova_bench.results_folder import ResultsFolder
from slova_bench.tables.assembly import Part, counted, measured, methods_table
from slova_bench.tables.quartiles import METRICS, QUARTILES, quartiles
from slova_bench.tables.seeds import Name
from slova_bench.tables.table import Column, Table

__all__ = ["IN_VIEW", "make"]

NEAR = {"cifar10": ("cifar100-test", "tinyimagenet-test"), "cifar100": ("cifar10-test", "tinyimagenet-test")}
NOISE = ("uniform", "permuted", "low_pass")
IN_VIEW = (
    "In view while the recipe was developed: the sixteen shifts, SVHN, CIFAR-100 and Tiny-ImageNet. Held out: motion "
    "blur, snow and JPEG compression. Shares and kinds of the recipe were chosen on validation images, by degradations "
    "and outliers that neither training nor calibration use.",
    "Clean and shifted images are scored by the classes given that the image has one. OOD images are ranked by P(none) "
    "where a method has it, else by the confidence. Mixtures have four clean images to one OOD image and are scored by "
    "all K + 1 outcomes. Noise is apart from real OOD images: two of its three kinds resemble outliers in training.",
)


def make(results: ResultsFolder, on: str) -> tuple[Table, ...]:
    rows = results.rows("recipes", on)
    every = tuple(dict.fromkeys(row.shift for row in rows if row.shift))
    shifts = tuple(shift for shift in every if shift in PAPER_SHIFTS) or every
    title = f"{labels.set_name(on)}: recipes on equal terms"
    parts = [*_clean(rows), *_shifted(rows, shifts), *_held_out(rows, every, shifts), *_ood(rows, on)]
    return (
        methods_table(f"recipes-{on}", title, parts, notes=IN_VIEW),
        _quartiles(rows, on, shifts),
    )


def _clean(rows: Sequence[Row]) -> list[Part]:
    found = {
        metric: _means(rows, metric, lambda row: row.n > 0 and not row.shift) for metric in ("accuracy", "ece", "nll")
    }
    return [counted(found["ece"]), *(measured(_column(m, "clean"), m, values) for m, values in found.items())]


def _shifted(rows: Sequence[Row], shifts: Sequence[str]) -> list[Part]:
    accuracy = _means(rows, "accuracy", lambda row: row.shift in shifts)
    medians = [measured(_column(m, "median over shifts"), m, quartiles(rows, m, shifts)[50]) for m in METRICS]
    return [measured(_column("accuracy", "shifted"), "accuracy", accuracy), *medians]


def _held_out(rows: Sequence[Row], every: Sequence[str], shifts: Sequence[str]) -> list[Part]:
    others = set(every) - set(shifts)
    found = {metric: _means(rows, metric, lambda row: row.shift in others) for metric in ("ece", "nll")}
    return [measured(_column(m, "held-out shifts"), m, values) for m, values in found.items() if values]


def _ood(rows: Sequence[Row], on: str) -> list[Part]:
    near = NEAR.get(on, ())
    groups: dict[str, Callable[[Row], bool]] = {
        "near OOD": lambda row: row.test in near,
        "far OOD": lambda row: row.test not in (*near, *NOISE, f"{on}-test"),
        "noise": lambda row: row.test in NOISE,
    }
    found = {name: _means(rows, "auroc", chosen) for name, chosen in groups.items()}
    mixed = _means(rows, "mixed_ece", lambda row: row.test not in (*NOISE, f"{on}-test"))
    parts = [measured(_column("auroc", name), "auroc", values) for name, values in found.items() if values]
    return [*parts, measured(Column("ECE of K + 1 outcomes ↓", "mixtures"), "ece", mixed)] if mixed else parts


def _quartiles(rows: Sequence[Row], on: str, shifts: Sequence[str]) -> Table:
    found = {metric: quartiles(rows, metric, shifts) for metric in METRICS}
    parts = [
        measured(Column(f"{share} %", f"{labels.metric(metric).name} {labels.better(metric)}"), metric, values[share])
        for metric, values in found.items()
        for share in QUARTILES
    ]
    title = f"{labels.set_name(on)}: quartiles over the clean set and {len(shifts)} shifts"
    return methods_table(f"recipes-quartiles-{on}", title, [counted(found["ece"][50]), *parts], aside=True)


def _means(rows: Sequence[Row], metric: str, chosen: Callable[[Row], bool]) -> dict[Name, dict[int, float]]:
    """method -> seed -> mean over the chosen rows."""
    values: dict[Name, dict[int, list[float]]] = {}
    for row in rows:
        if row.metric == metric and chosen(row):
            values.setdefault((row.method, row.variant), {}).setdefault(row.seed, []).append(row.value)
    return {name: {seed: float(np.mean(v)) for seed, v in seeds.items()} for name, seeds in values.items()}


def _column(metric: str, where: str) -> Column:
    return Column(f"{labels.metric(metric).name} {labels.better(metric)}", where)
