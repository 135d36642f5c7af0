"""The clean test set: accuracy and calibration without shift (Sec. 4.1)."""

from __future__ import annotations

from slova_bench import labels
from slova_bench.frame import by_method
from slova_bench.results_folder import ResultsFolder
from slova_bench.tables.assembly import counted, measured, methods_table
from slova_bench.tables.table import Column, Table

__all__ = ["METRICS", "make"]

METRICS = ("accuracy", "ece", "nll", "brier")


def make(results: ResultsFolder, on: str) -> tuple[Table, ...]:
    """The mean confidence is shown next to the accuracy, which it should equal; it has no better direction."""
    rows = results.rows("shift", on)
    clean = rows[rows["shift"] == ""]
    values = {metric: by_method(clean[clean["metric"] == metric]) for metric in (*METRICS, "mmc")}
    parts = [measured(Column(f"{labels.metric(m).name} {labels.better(m)}"), m, values[m]) for m in METRICS]
    confidence = measured(Column(labels.metric("mmc").name), "mmc", values["mmc"], judged=False)
    title = "Accuracy, calibration and mean confidence (MMC) without any shift"
    return (methods_table(f"clean-{on}", title, [counted(values["ece"]), *parts, confidence]),)
