"""The effect of each step (Fig. 8): softmax, one-vs-all, its SLOVA readout, and the calibrated readout."""

from __future__ import annotations

from slova_bench import labels
from slova_bench.frame import of, quartiles, shift_groups
from slova_bench.results_folder import ResultsFolder
from slova_bench.tables import sources
from slova_bench.tables.assembly import counted, measured, methods_table
from slova_bench.tables.quartiles import incomplete
from slova_bench.tables.table import Column, Table

__all__ = ["STEPS", "make"]

METRICS = ("accuracy", "ece", "nll", "brier")
STEPS = ("softmax", "ova", "slova_raw", "slova", "slova_clean")


def make(results: ResultsFolder, on: str) -> tuple[Table, ...]:
    """Quartiles of each metric over clean and shifted data."""
    rows = of(sources.rows(results, "ablation", on), [(step, "") for step in STEPS])
    shifts = shift_groups(rows)[0]
    found = {metric: quartiles(rows, metric, shifts) for metric in METRICS}
    parts = [
        measured(Column(f"{share} %", f"{labels.metric(metric).name} {labels.better(metric)}"), metric, values)
        for metric in METRICS
        for share, values in found[metric].items()
        if share == 50 or metric == "ece"
    ]
    title = f"Effect of each step: quartiles over clean and shifted {labels.set_name(on)}"
    notes = [incomplete(rows, "ece", shifts)]
    return (methods_table(f"ablation-{on}", title, [counted(found["ece"][50]), *parts], notes=notes),)
