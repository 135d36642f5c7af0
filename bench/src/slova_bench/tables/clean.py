"""The clean test set: accuracy and calibration without shift (Sec. 4.1)."""

from __future__ import annotations

from slova_bench import labels
from slova_bench.frame import per_seed, where
from slova_bench.results_folder import ResultsFolder
from slova_bench.tables.assembly import counted, measured, methods_table, of_metric
from slova_bench.tables.table import Column, Table

__all__ = ["METRICS", "make"]

METRICS = ("accuracy", "ece", "nll", "brier")


def make(results: ResultsFolder, on: str) -> tuple[Table, ...]:
    """The mean confidence is shown next to the accuracy, which it should equal; it has no better direction."""
    clean = where(results.rows("shift", on), shift="")
    values = {metric: per_seed(where(clean, metric=metric)) for metric in (*METRICS, "mmc")}
    parts = [of_metric(metric, values[metric]) for metric in METRICS]
    confidence = measured(Column(labels.metric("mmc").name), "mmc", values["mmc"], judged=False)
    title = "Accuracy, calibration and mean confidence (MMC) without any shift"
    return (methods_table(f"clean-{on}", title, [counted(values["ece"]), *parts, confidence]),)
