"""Quartiles over the clean test set and all shifted ones (Appendix C), next to those of the paper.

Quartiles are computed per seed and then averaged over seeds, so that the spread between networks is not mixed with the
spread between shifts. Seeds with missing sets are left out.
"""

from __future__ import annotations

from collections.abc import Collection

from slova_bench import labels
from slova_bench.frame import QUARTILES, Frame, quartiles, shift_groups, sizes, where
from slova_bench.labels import PAPER_SHIFTS
from slova_bench.results_folder import ResultsFolder
from slova_bench.tables import published
from slova_bench.tables.assembly import Part, counted, from_paper, label, measured, methods_table, of_quartiles
from slova_bench.tables.table import Column, Table

__all__ = ["METRICS", "incomplete", "left_out", "make"]

METRICS = ("ece", "nll", "brier")


def make(results: ResultsFolder, on: str) -> tuple[Table, ...]:
    """One table per metric over the shifts of the paper, and one over all shifts where there are more."""
    rows = results.rows("shift", on)
    own, *more = shift_groups(rows)
    tables = [_beside_paper(rows, results.paper, on, metric, own) for metric in METRICS]
    return (*tables, *(_whole(rows, on, shifts) for shifts in more))


def incomplete(rows: Frame, metric: str, shifts: Collection[str]) -> str:
    """A note that lists the seeds that are left out, if any."""
    short = left_out(_under(rows, metric, shifts))
    return f"Left out, because sets are missing: {'; '.join(short)}." if short else ""


def left_out(rows: Frame) -> list[str]:
    """The seeds without some of the sets."""
    every, found = sizes(rows)
    short = [(label(name), seed, count) for (name, seed), count in found.items() if count < every]
    return [f"{name} at seed {seed} ({count} of {every} sets)" for name, seed, count in short]


def _beside_paper(rows: Frame, paper: Frame, on: str, metric: str, shifts: Collection[str]) -> Table:
    found, parts, ours = quartiles(rows, metric, shifts), list[Part](), rows["method"].unique()
    for share in QUARTILES:
        group = f"{share} %"
        parts.append(measured(Column("ours", group), metric, found[share]))
        found_in = {"experiment": "shift", "train": f"{on}-train", "metric": f"{metric}_q{share}"}
        if theirs := published.numbers(paper, ours, **found_in):
            parts.append(from_paper(Column("paper", group), metric, theirs))
    title = f"{labels.head(metric)}, quartiles over {_sets(rows, metric, shifts)}"
    notes = [incomplete(rows, metric, shifts)]
    return methods_table(f"quartiles-{metric}-{on}", title, [counted(found[50]), *parts], notes=notes)


def _whole(rows: Frame, on: str, shifts: Collection[str]) -> Table:
    found = {metric: quartiles(rows, metric, shifts) for metric in METRICS}
    parts, notes = [counted(found["ece"][50]), *of_quartiles(found)], [incomplete(rows, METRICS[0], shifts)]
    title = f"Quartiles over {_sets(rows, METRICS[0], shifts)}"
    return methods_table(f"quartiles-all-{on}", title, parts, notes=notes, aside=True)


def _sets(rows: Frame, metric: str, shifts: Collection[str]) -> str:
    every, _ = sizes(_under(rows, metric, shifts))
    of_paper = " of the paper" if set(shifts) == set(PAPER_SHIFTS) else ""
    return f"{every} test sets: the clean one and {len(shifts)} shifts{of_paper}"


def _under(rows: Frame, metric: str, shifts: Collection[str]) -> Frame:
    return where(rows, metric=metric, shift=["", *shifts])
