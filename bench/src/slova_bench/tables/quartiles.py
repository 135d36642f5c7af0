"""Quartiles over the clean test set and all shifted ones (Appendix C), next to those of the paper.

Quartiles are computed per seed and then averaged over seeds, so that the spread between networks is not mixed with the
spread between shifts. Seeds with missing sets are left out.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Literal

import numpy as np

from slova_bench import labels
from slova_bench.labels import PAPER_SHIFTS
from slova_bench.results import Row
from slova_bench.results_folder import ResultsFolder
from slova_bench.tables import published
from slova_bench.tables.assembly import Part, counted, from_paper, label, measured, methods_table
from slova_bench.tables.seeds import Name
from slova_bench.tables.table import Column, Table

__all__ = ["METRICS", "QUARTILES", "by_set", "incomplete", "make", "quartiles", "shift_groups"]

METRICS = ("ece", "nll", "brier")
QUARTILES = (25, 50, 75)
SIDES: tuple[Literal["lower"], Literal["higher"]] = ("lower", "higher")

Sets = dict[tuple[str, float], float]  # shift and level to a value


def make(results: ResultsFolder, on: str) -> tuple[Table, ...]:
    """One table per metric over the shifts of the paper, and one over all shifts where there are more."""
    rows = results.rows("shift", on)
    own, *more = shift_groups(rows)
    tables = [_beside_paper(rows, results.paper, on, metric, own) for metric in METRICS]
    return (*tables, *(_whole(rows, on, shifts) for shifts in more))


def shift_groups(rows: Iterable[Row]) -> list[tuple[str, ...]]:
    """The shifts of the paper (see `labels.paper_shifts`), and all shifts where there are more."""
    found = {row.shift for row in rows} - {""}
    paper = labels.paper_shifts(found)
    return [paper, tuple(sorted(found))] if set(paper) < found else [paper]


def by_set(rows: Iterable[Row], metric: str, shifts: Collection[str]) -> dict[Name, dict[int, Sets]]:
    """method -> seed -> set -> value, on clean data and under these shifts."""
    selected, values = {"", *shifts}, dict[Name, dict[int, Sets]]()
    for row in rows:
        if row.metric == metric and row.shift in selected:
            seeds = values.setdefault((row.method, row.variant), {})
            seeds.setdefault(row.seed, {})[row.shift, row.level] = row.value
    return values


def quartiles(rows: Iterable[Row], metric: str, shifts: Collection[str]) -> dict[int, dict[Name, dict[int, float]]]:
    """quartile -> method -> seed -> value, for the seeds that have every set."""
    values, result = by_set(rows, metric, shifts), {share: dict[Name, dict[int, float]]() for share in QUARTILES}
    every = _every(values)
    for name, seeds in values.items():
        for seed, sets in seeds.items():
            if len(sets) == every:
                for share in QUARTILES:
                    result[share].setdefault(name, {})[seed] = _percentile(list(sets.values()), share)
    return result


def _percentile(values: Sequence[float], share: int) -> float:
    """Linear interpolation as in numpy, where one or both neighbours may be infinite."""
    below, above = (float(np.percentile(values, share, method=side)) for side in SIDES)
    return above if below == above or np.isinf(above) else float(np.percentile(values, share))


def incomplete(rows: Iterable[Row], metric: str, shifts: Collection[str]) -> str:
    """A note that lists the seeds that are left out, if any."""
    values = by_set(rows, metric, shifts)
    every = _every(values)
    short = [
        f"{label(name)} at seed {seed} ({len(sets)} of {every} sets)"
        for name, seeds in values.items()
        for seed, sets in seeds.items()
        if len(sets) < every
    ]
    return f"Left out, because sets are missing: {'; '.join(short)}." if short else ""


def _every(values: Mapping[Name, Mapping[int, Sets]]) -> int:
    return len({place for seeds in values.values() for sets in seeds.values() for place in sets})


def _beside_paper(rows: Sequence[Row], paper: Sequence[Row], on: str, metric: str, shifts: Collection[str]) -> Table:
    found, parts, ours = quartiles(rows, metric, shifts), list[Part](), {row.method for row in rows}
    for share in QUARTILES:
        group = f"{share} %"
        parts.append(measured(Column("ours", group), metric, found[share]))
        where = {"experiment": "shift", "train": f"{on}-train", "metric": f"{metric}_q{share}"}
        if theirs := published.numbers(paper, ours, **where):
            parts.append(from_paper(Column("paper", group), metric, theirs))
    title = f"{labels.metric(metric).name} {labels.better(metric)}, quartiles over {_sets(rows, metric, shifts)}"
    notes = [incomplete(rows, metric, shifts)]
    return methods_table(f"quartiles-{metric}-{on}", title, [counted(found[50]), *parts], notes=notes)


def _whole(rows: Sequence[Row], on: str, shifts: Collection[str]) -> Table:
    found = {metric: quartiles(rows, metric, shifts) for metric in METRICS}
    parts = [
        measured(Column(f"{share} %", f"{labels.metric(metric).name} {labels.better(metric)}"), metric, values)
        for metric, by_share in found.items()
        for share, values in by_share.items()
    ]
    title = f"Quartiles over {_sets(rows, METRICS[0], shifts)}"
    notes = [incomplete(rows, METRICS[0], shifts)]
    return methods_table(f"quartiles-all-{on}", title, [counted(found["ece"][50]), *parts], notes=notes, aside=True)


def _sets(rows: Sequence[Row], metric: str, shifts: Collection[str]) -> str:
    every = _every(by_set(rows, metric, shifts))
    of_paper = " of the paper" if set(shifts) == set(PAPER_SHIFTS) else ""
    return f"{every} test sets: the clean one and {len(shifts)} shifts{of_paper}"
