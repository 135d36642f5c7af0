"""The paper's fit by its number of terms M and of points n_b (Appendix B), and the optimal fit."""

from __future__ import annotations

from slova_bench import labels
from slova_bench.frame import Frame, per_seed
from slova_bench.results import variant
from slova_bench.results_folder import ResultsFolder
from slova_bench.tables.assembly import shown
from slova_bench.tables.seeds import estimate
from slova_bench.tables.table import NOTHING, Column, Entry, Table, text

__all__ = ["METRICS", "OPTIMAL", "make"]

METRICS = ("ece", "nll", "brier")
OPTIMAL = "optimal"  # the fit without a parameter

FIT = ["method", "parameter", "parameter_value", "preset"]
Fit = tuple[str, str, float, str]  # their values


def make(results: ResultsFolder, on: str) -> tuple[Table, ...]:
    """One row per fit. None is marked as best, because the question is whether they differ."""
    rows = results.rows("stability", on)
    fits = sorted(rows[FIT].drop_duplicates().itertuples(index=False, name=None))
    lines = [(text(_calibrated(fit)), text(_name(fit)), *(_entry(rows, fit, m) for m in METRICS)) for fit in fits]
    heads = [Column(labels.head(metric)) for metric in METRICS]
    title = f"The paper's fit with M terms or n_b points, and the optimum: clean {labels.set_name(on)}"
    return (Table(f"stability-{on}", title, (Column("Method"), Column("Fit"), *heads), tuple(lines), (), True),)


def _calibrated(fit: Fit) -> str:
    return labels.look(fit[0]).name


def _name(fit: Fit) -> str:
    _, parameter, value, preset = fit
    return variant(preset, parameter, value) if parameter else f"{preset} {OPTIMAL}".strip()


def _entry(rows: Frame, fit: Fit, metric: str) -> Entry:
    own = rows[(rows[FIT] == list(fit)).all(axis=1) & (rows["metric"] == metric)]
    merged = {seed: value for found in per_seed(own).values() for seed, value in found.items()}
    if not merged:
        return Entry(NOTHING)
    found = estimate(merged)
    return shown(metric, found.mean, error=found.error)
