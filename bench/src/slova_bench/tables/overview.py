"""The overview, one row per method: the clean test set, the median over shifts, and OOD data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np

from slova_bench import labels
from slova_bench.labels import SCORES
from slova_bench.results import Row
from slova_bench.results_folder import ResultsFolder
from slova_bench.tables.assembly import Part, by_method, measured, methods_table
from slova_bench.tables.quartiles import quartiles, shift_groups
from slova_bench.tables.seeds import Name
from slova_bench.tables.table import Column, Table, text

__all__ = ["make"]

CLEAN, SHIFTED, OOD = ("accuracy", "ece"), ("ece", "nll", "brier"), ("mmc", "auroc")


def make(results: ResultsFolder, on: str) -> tuple[Table, ...]:
    """Methods without OOD rows have no numbers in the OOD columns."""
    rows = results.rows("shift", on)
    ood = results.rows("ood", on) if on in results.sets("ood") else []
    where = f"OOD{results.mark('ood', on)}"
    parts = [_seeds(rows, ood), *_clean(rows), *_shifted(rows), *_ood(ood, f"{on}-test", where)]
    return (methods_table(f"overview-{on}", f"{labels.set_name(on)} at a glance", parts),)


def _seeds(rows: Sequence[Row], ood: Sequence[Row]) -> Part:
    """The number of seeds, and the number on OOD sets where it differs."""
    counts = [Counter(name for name, _ in {((r.method, r.variant), r.seed) for r in part}) for part in (rows, ood)]
    words = {name: [str(count[name]) for count in counts if name in count] for name in {**counts[0], **counts[1]}}
    return Part(Column("Seeds"), {name: text(", ".join(dict.fromkeys(found))) for name, found in words.items()})


def _clean(rows: Sequence[Row]) -> list[Part]:
    found = {metric: [row for row in rows if row.metric == metric and not row.shift] for metric in CLEAN}
    return [measured(_column(metric, "clean"), metric, by_method(found[metric])) for metric in CLEAN]


def _shifted(rows: Sequence[Row]) -> list[Part]:
    shifts = shift_groups(rows)[0]
    return [measured(_column(m, "median"), m, quartiles(rows, m, shifts)[50]) for m in SHIFTED]


def _ood(rows: Sequence[Row], inside: str, where: str) -> list[Part]:
    """Means over the OOD sets. Methods that only score have no confidence of their own."""
    outside = [row for row in rows if row.test != inside]
    found = {
        metric: [row for row in outside if row.metric == metric and (metric != "mmc" or row.method not in SCORES)]
        for metric in OOD
    }
    return [measured(_column(m, where), m, _means(found[m])) for m in OOD if found[m]]


def _means(rows: Iterable[Row]) -> dict[Name, dict[int, float]]:
    values: dict[Name, dict[int, list[float]]] = {}
    for row in rows:
        values.setdefault((row.method, row.variant), {}).setdefault(row.seed, []).append(row.value)
    return {name: {seed: float(np.mean(found)) for seed, found in seeds.items()} for name, seeds in values.items()}


def _column(metric: str, where: str) -> Column:
    return Column(f"{labels.metric(metric).name} {labels.better(metric)}", where)
