"""Methods against each other: in how many quartiles over shifts one is better or worse, for the shifts of the paper and
for those held out."""

from __future__ import annotations

from itertools import product
from typing import NamedTuple

from slova_bench import labels
from slova_bench.frame import Frame, quartiles, shift_groups, where
from slova_bench.results_folder import ResultsFolder
from slova_bench.tables.assembly import paired
from slova_bench.tables.quartiles import METRICS
from slova_bench.tables.seeds import FEWEST, at_common_seeds, better
from slova_bench.tables.table import Column, Table, table, text

__all__ = ["make"]

NEW = tuple(method for method in labels.BEYOND if method not in ("slova_none_raw", "retrofit_noise"))
RIVALS = ("temperature", "ensemble", "ensemble_temperature")
PAIRS = (
    *product(NEW, RIVALS),
    *(("slova_ensemble", "slova"), ("slova_ensemble", "slova_clean")),  # the question of Sec. 5.3
    *(("slova_clean", "slova"), ("slova_paper_fit", "slova")),
    *(("ensemble_temperature", "ensemble"), ("ensemble_ten", "ensemble")),
)
NOTES = (
    "Counted are the nine quartiles of ECE, NLL and Brier score in which the method is better or worse than the other, "
    f"by means over the seeds that both have. With {FEWEST} seeds or more, quartiles that they cannot distinguish are "
    "neither. Quartiles over the shifts of the paper include the clean test set, those over held-out shifts do not.",
    "The shifts of the paper were in view while the distance-aware methods were developed, the held-out shifts were "
    "not. Temperatures are fitted on clean validation images, distance-aware methods on clean and degraded ones. Flip "
    "test-time augmentation is two passes, ensembles are five, or ten.",
)
Pair = tuple[str, str]


class Counts(NamedTuple):
    """The common seeds of two methods, and the quartiles in which the first is better and worse."""

    seeds: int
    better: int
    worse: int


def make(results: ResultsFolder, on: str) -> tuple[Table, ...]:
    """A row for each pair with common seeds."""
    rows = where(results.rows("shift", on), variant="")
    paper, *every = shift_groups(rows)
    held_out = sorted({shift for group in every for shift in group} - {*paper})
    groups = {f"{len(paper)} shifts": where(rows, shift=["", *paper])}
    groups |= {f"{len(held_out)} held-out shifts": where(rows, shift=held_out)} if held_out else {}
    found = {group: {pair: count for pair in PAIRS if (count := _counts(own, pair))} for group, own in groups.items()}
    first = next(iter(found.values()))
    seeds = {pair: min(own[pair].seeds for own in found.values() if pair in own) for pair in first}
    columns = paired(seeds)
    for group, own in found.items():
        columns.append(Column("better", group, {pair: text(count.better) for pair, count in own.items()}))
        columns.append(Column("worse", group, {pair: text(count.worse) for pair, count in own.items()}))
    title = "Of nine quartiles, those in which a method is better or worse"
    return (table(f"contests-{on}", title, columns, first, notes=NOTES),) if first else ()


def _counts(rows: Frame, pair: Pair) -> Counts | None:
    """At the seeds that have every set; None without any."""
    both, shifts = where(rows, method=pair), {*rows["shift"]} - {""}
    columns = [
        (metric, at_common_seeds(one, pair)) for metric in METRICS for one in quartiles(both, metric, shifts).values()
    ]
    if any(len(one) < len(pair) for _, one in columns):
        return None
    ours, theirs = ((method, "") for method in pair)
    wins, losses = (
        sum(better(one, *order, metric) for metric, one in columns) for order in ((ours, theirs), (theirs, ours))
    )
    return Counts(len(columns[0][1][ours]), wins, losses)
