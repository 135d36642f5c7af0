"""The paper's fit by its number of terms M and of points n_b (Appendix B), and the optimal fit."""

from __future__ import annotations

from slova_bench import labels
from slova_bench.results import variant
from slova_bench.results_folder import ResultsFolder
from slova_bench.tables.assembly import label, measured
from slova_bench.tables.table import Column, Table, table, text

__all__ = ["METRICS", "make"]

METRICS = ("ece", "nll", "brier")
FIT = ["method", "parameter", "parameter_value", "preset"]


def make(results: ResultsFolder, on: str) -> tuple[Table, ...]:
    """One row per fit. None is marked as best, because the question is whether they differ."""
    means = results.rows("stability", on).groupby([*FIT, "metric", "seed"])["value"].mean()
    fits = list(means.index.droplevel(["metric", "seed"]).unique())  # in order
    names = {fit: text(label((fit[0], ""))) for fit in fits}
    kinds = {fit: text(variant(fit[3], *fit[1:3]) if fit[1] else f"{fit[3]} optimal".strip()) for fit in fits}
    columns = [Column("Method", entries=names), Column("Fit", entries=kinds)]
    for metric in METRICS:
        own = means.xs(metric, level="metric")
        values = {fit: own.loc[fit].to_dict() for fit in own.index.droplevel("seed").unique()}
        columns.append(measured(metric, values, judged=False))
    title = f"The paper's fit with M terms or n_b points, and the optimum: clean {labels.set_name(on)}"
    return (table(f"stability-{on}", title, columns, fits, aside=True),)
