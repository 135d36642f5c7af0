"""`slova metrics`: a file of logits with labels, block by block, to a table of metrics."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import click

from slova.batch.measures import BINS, Values, measured
from slova.cli.files import load
from slova.cli.stream import opened_rows
from slova.cli.terminal import aligned, print_json
from slova.io import Table
from slova.metrics import Estimate
from slova.scorer import HEADS, Scorer

__all__ = ["MetricsOptions", "run"]

NAMES = {
    "rows": "rows",
    "ood_rows": "rows out-of-distribution, or labelled none",
    "accuracy": "accuracy",
    "nll": "NLL",
    "brier": "Brier score",
    "ece": f"ECE, {BINS} bins of equal width",
    "ece_mass": f"ECE, {BINS} bins of equal mass",
    "mmc": "mean maximal confidence (MMC)",
    "aurc": "area under risk-coverage (AURC)",
    "auroc": "AUROC, out-of-distribution",
    "aupr": "AUPR, out-of-distribution",
    "fpr95": "FPR at 95 % TPR, out-of-distribution",
    "ood_mmc": "MMC, out-of-distribution",
}


@dataclass(frozen=True, kw_only=True)
class MetricsOptions:
    logits: Path
    labels: Path | None
    map_file: Path | None
    head: str | None
    ood: Path | None
    engine: str | None
    workers: int | None
    size: int | None
    as_json: bool


def run(options: MetricsOptions) -> None:
    if options.map_file is not None and options.head is not None:
        raise click.UsageError("--head belongs to logits without a --map, which has a head of its own")
    known = None if options.map_file is None else load(options.map_file).scorer
    tables = [Table(options.logits, options.labels, options.size)]
    tables += [] if options.ood is None else [Table(options.ood, size=options.size)]
    with opened_rows(tables, options.engine, options.workers) as (rows, *ood):
        scorer = known or Scorer(classes=rows.classes, head=HEADS[options.head or "slova"])
        _report(measured(rows, scorer, *ood), options.as_json)


def _report(values: Values, as_json: bool) -> None:
    if as_json:
        plain = {name: value.value if isinstance(value, Estimate) else value for name, value in values.items()}
        bounds = {name: value.bound for name, value in values.items() if isinstance(value, Estimate)}
        print_json({**plain, "bounds": bounds})
        return
    click.echo(
        aligned([[NAMES[name], _number(value)] for name, value in values.items() if value or name != "ood_rows"])
    )


def _number(value: float | Estimate) -> str:
    """A value known only within a bound says so; a bound of 5e-7 or less shows in none of the six digits."""
    if isinstance(value, Estimate):
        return f"{value.value:.6f}" + (f" ± {value.bound:.1g}" if value.bound > 5e-7 else "")
    return f"{value:,}" if isinstance(value, int) else f"{value:.6f}"
