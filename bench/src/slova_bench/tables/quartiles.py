"""The clean test set and shifted ones: means, quartiles (Appendix C) and the effect of each step (Fig. 8).

Quartiles are over the clean set and all shifted ones. They are computed per seed and then averaged over seeds, so that
the spread between networks is not mixed with the spread between shifts. Seeds with missing sets are left out.
"""

from __future__ import annotations

from collections.abc import Collection

from slova_bench import labels
from slova_bench.frame import QUARTILES, Frame, of, per_seed, quartiles, shift_groups, sizes, where
from slova_bench.results_folder import ResultsFolder
from slova_bench.tables import published
from slova_bench.tables.assembly import counted, label, measured, methods_table, of_places, of_quartiles, once
from slova_bench.tables.table import Column, Table

__all__ = ["METRICS", "ablation", "clean", "left_out", "make", "published_quartiles"]

METRICS = ("ece", "nll", "brier")
STEPS = ("softmax", "ova", "slova_raw", "slova", "slova_clean")


def clean(results: ResultsFolder, on: str) -> tuple[Table, ...]:
    """The mean confidence is shown next to the accuracy, which it should equal; it has no better direction."""
    rows = where(results.rows("shift", on), shift="")
    confidence = measured("mmc", per_seed(where(rows, metric="mmc")), head="MMC", judged=False)
    columns = [counted(per_seed(where(rows, metric="ece"))), *of_places({"": rows}, "accuracy", *METRICS), confidence]
    return (methods_table(f"clean-{on}", "Accuracy, calibration and mean confidence (MMC) without any shift", columns),)


def make(results: ResultsFolder, on: str) -> tuple[Table, ...]:
    """One table per metric over the shifts of the paper, and one over all shifts where there are more."""
    rows = results.rows("shift", on)
    own, *more = shift_groups(rows)
    tables = [_beside_paper(rows, results.paper, on, metric, own) for metric in METRICS]
    for shifts in more:
        columns = [_counted(rows, shifts), *of_quartiles(rows, METRICS, shifts)]
        title, notes = f"Quartiles over {_sets(rows, METRICS[0], shifts)}", [_incomplete(rows, METRICS[0], shifts)]
        tables.append(methods_table(f"quartiles-all-{on}", title, columns, notes=notes, aside=True))
    return tuple(tables)


def ablation(results: ResultsFolder, on: str) -> tuple[Table, ...]:
    """The effect of each step: softmax, one-vs-all, its SLOVA readout, and the calibrated readout."""
    rows = of(results.rows_of("ablation", on), [(step, "") for step in STEPS])
    shifts = shift_groups(rows)[0]
    columns = [
        one
        for metric in ("accuracy", *METRICS)
        for one in of_quartiles(rows, [metric], shifts, QUARTILES if metric == "ece" else (50,))
    ]
    title = f"Effect of each step: quartiles over clean and shifted {labels.set_name(on)}"
    notes = [_incomplete(rows, "ece", shifts)]
    return (methods_table(f"ablation-{on}", title, [_counted(rows, shifts), *columns], notes=notes),)


def left_out(rows: Frame) -> str:
    """The seeds without some of the sets; empty without any."""
    every, found = sizes(rows)
    short = [(label(name), seed, count) for (name, seed), count in found.items() if count < every]
    return "; ".join(f"{name} at seed {seed} ({count} of {every} sets)" for name, seed, count in short)


def published_quartiles(paper: Frame, ours: Collection[str], on: str, metric: str) -> dict[int, published.Numbers]:
    """The quartiles of the paper, by our names."""
    own = {"experiment": "shift", "train": f"{on}-train"}
    return {share: published.numbers(paper, ours, **own, metric=f"{metric}_q{share}") for share in QUARTILES}


def _beside_paper(rows: Frame, paper: Frame, on: str, metric: str, shifts: Collection[str]) -> Table:
    found, theirs = quartiles(rows, metric, shifts), published_quartiles(paper, rows["method"].unique(), on, metric)
    columns = [counted(found[50])]
    for share, values in found.items():
        sides = {"ours": values, "paper": once(theirs[share])}
        columns += [measured(metric, own, f"{share} %", head) for head, own in sides.items() if own or head == "ours"]
    title = f"{labels.head(metric)}, quartiles over {_sets(rows, metric, shifts)}"
    return methods_table(f"quartiles-{metric}-{on}", title, columns, notes=[_incomplete(rows, metric, shifts)])


def _counted(rows: Frame, shifts: Collection[str]) -> Column:
    """The seeds that have every set."""
    return counted(quartiles(rows, "ece", shifts)[50])


def _incomplete(rows: Frame, metric: str, shifts: Collection[str]) -> str:
    """A note that lists the seeds that are left out, if any."""
    short = left_out(where(rows, metric=metric, shift=["", *shifts]))
    return f"Left out, because sets are missing: {short}." if short else ""


def _sets(rows: Frame, metric: str, shifts: Collection[str]) -> str:
    every, _ = sizes(where(rows, metric=metric, shift=["", *shifts]))
    of_paper = " of the paper" if set(shifts) == set(labels.PAPER_SHIFTS) else ""
    return f"{every} test sets: the clean one and {len(shifts)} shifts{of_paper}"
