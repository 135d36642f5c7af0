"""How the paper's fit depends on its number of terms M and of points n_b (Appendix B), beside the optimal fit."""

from __future__ import annotations

import re

from slova_bench import labels
from slova_bench.results import Row
from slova_bench.results_folder import ResultsFolder
from slova_bench.tables.assembly import by_method, shown
from slova_bench.tables.seeds import estimate
from slova_bench.tables.table import NOTHING, Column, Entry, Table, text

__all__ = ["METRICS", "make", "size"]

METRICS = ("ece", "nll", "brier")


def make(evidence: ResultsFolder, on: str) -> tuple[Table, ...]:
    """A row a fit: no best is marked, because the question is which of them differ at all."""
    rows = evidence.rows("stability", on)
    variants = sorted({row.variant for row in rows}, key=_order)
    lines = [(text(variant), *(_entry(rows, variant, metric) for metric in METRICS)) for variant in variants]
    heads = [Column(f"{labels.metric(metric).name} {labels.better(metric)}") for metric in METRICS]
    title = f"The paper's fit with M terms or n_b points, and the optimum: clean {labels.set_name(on)}"
    return (Table(f"stability-{on}", title, (Column("Fit"), *heads), tuple(lines), (), True),)


def size(variant: str) -> tuple[str, float]:
    """`M=20` as ("M", 20.0); a fit without a number has none of either."""
    found = re.fullmatch(r"(\w+)=(\d+)", variant)
    return (found[1], float(found[2])) if found else ("", 0.0)


def _entry(rows: list[Row], variant: str, metric: str) -> Entry:
    values = by_method(row for row in rows if (row.variant, row.metric) == (variant, metric))
    merged = {seed: value for found in values.values() for seed, value in found.items()}
    if not merged:
        return Entry(NOTHING)
    found = estimate(merged)
    return shown(metric, found.mean, error=found.error)


def _order(variant: str) -> tuple[str, float, str]:
    return (*size(variant), variant)
