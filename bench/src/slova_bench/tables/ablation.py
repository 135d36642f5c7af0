"""The effect of each step (Fig. 8): softmax, one-vs-all, its SLOVA readout, and the calibrated readout."""

from __future__ import annotations

from slova_bench import labels
from slova_bench.frame import of, quartiles, shift_groups
from slova_bench.results_folder import ResultsFolder
from slova_bench.tables.assembly import counted, methods_table, of_quartiles
from slova_bench.tables.quartiles import incomplete
from slova_bench.tables.table import Table

__all__ = ["STEPS", "make"]

METRICS = ("accuracy", "ece", "nll", "brier")
STEPS = ("softmax", "ova", "slova_raw", "slova", "slova_clean")


def make(results: ResultsFolder, on: str) -> tuple[Table, ...]:
    """Quartiles of each metric over clean and shifted data."""
    rows = of(results.rows_of("ablation", on), [(step, "") for step in STEPS])
    shifts = shift_groups(rows)[0]
    found = {metric: quartiles(rows, metric, shifts) for metric in METRICS}
    shown = {metric: shares if metric == "ece" else {50: shares[50]} for metric, shares in found.items()}
    title = f"Effect of each step: quartiles over clean and shifted {labels.set_name(on)}"
    notes = [incomplete(rows, "ece", shifts)]
    return (methods_table(f"ablation-{on}", title, [counted(found["ece"][50]), *of_quartiles(shown)], notes=notes),)
