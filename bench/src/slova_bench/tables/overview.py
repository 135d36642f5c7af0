"""The overview, one row per method: the clean test set, medians over shifts and held-out shifts, OOD data and noise."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np

from slova_bench import labels
from slova_bench.labels import SCORES
from slova_bench.results import Row
from slova_bench.results_folder import ResultsFolder
from slova_bench.tables.assembly import Part, by_method, measured, methods_table
from slova_bench.tables.ood import is_data
from slova_bench.tables.quartiles import quartiles, shift_groups
from slova_bench.tables.seeds import Name
from slova_bench.tables.table import Column, Table, text

__all__ = ["make"]

CLEAN, SHIFTED, OOD = ("accuracy", "ece"), ("ece", "nll", "brier"), ("mmc", "auroc")
NOTES = (
    "The sixteen shifts of the medians were in view while the distance-aware methods were developed; held-out shifts "
    "(motion blur, snow, JPEG compression) were not.",
    "OOD: means over real sets. Noise is apart: two of its three kinds are in the outliers of NONE in training.",
    "Flip test-time augmentation is two passes, ensembles are five.",
)


def make(results: ResultsFolder, on: str) -> tuple[Table, ...]:
    """Methods without OOD rows have no numbers in the OOD columns."""
    rows = results.rows("shift", on)
    ood = results.rows("ood", on) if on in results.sets("ood") else []
    mark = results.mark("ood", on)
    real, noise = ([row for row in ood if is_data(row.test) is kind] for kind in (True, False))
    parts = [_seeds(rows, ood), *_clean(rows), *_shifted(rows), *_held_out(rows)]
    parts += [*_ood(real, f"{on}-test", f"OOD{mark}"), *_ood(noise, f"{on}-test", f"noise{mark}")[-1:]]
    return (methods_table(f"overview-{on}", f"{labels.set_name(on)} at a glance", parts, notes=NOTES),)


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


def _held_out(rows: Sequence[Row]) -> list[Part]:
    """Medians over the shifts that are not in the paper and were not in view, without the clean set."""
    own, *more = shift_groups(rows)
    shifts = set(more[0]) - set(own) if more else set()
    held = [row for row in rows if row.shift in shifts]
    return [measured(_column(m, "held-out"), m, quartiles(held, m, shifts)[50]) for m in ("ece", "nll") if held]


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
