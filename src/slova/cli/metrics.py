"""`slova metrics`: metrics of a file of logits with labels, block by block."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

from slova.batch.metric_states import BINS, Values, compute_metrics
from slova.cli.files import scorer_or_none
from slova.cli.options import FILE, as_json, batch_size, engine, head_or_model, labels_file, max_memory, workers
from slova.cli.stream import columns_of, open_rows, scorer_for
from slova.cli.terminal import aligned, print_json
from slova.io import Table
from slova.metrics import Estimate

__all__ = ["metrics"]

NAMES = {
    "rows": "rows",
    "ood_rows": "OOD rows, including those labelled NONE",
    "accuracy": "accuracy",
    "nll": "NLL",
    "brier": "Brier score",
    "ece": f"ECE, {BINS} bins of equal width",
    "ece_mass": f"ECE, {BINS} bins of equal mass",
    "mmc": "mean maximal confidence (MMC)",
    "aurc": "area under risk-coverage (AURC)",
    "auroc": "AUROC, OOD detection",
    "aupr": "AUPR, OOD detection",
    "fpr95": "FPR at 95 % TPR, OOD detection",
    "ood_mmc": "MMC, OOD rows",
}


@click.command()
@click.argument("logits", type=FILE)
@labels_file
@head_or_model
@click.option("--ood", type=FILE, help="Logits of out-of-distribution (OOD) inputs.")
@engine
@workers
@batch_size
@max_memory
@as_json
def metrics(
    logits: Path,
    labels: Path | None,
    model: Path | None,
    head: str | None,
    ood: Path | None,
    engine: str | None,
    workers: int | None,
    size: int | None,
    memory: int,
    as_json: bool,
) -> None:
    """Compute accuracy, calibration and OOD metrics of LOGITS with labels.

    Example: slova metrics test.npz --model model.slova --ood ood.npz
    """
    known = scorer_or_none(model, head)
    tables = [Table(logits, labels, size, memory, columns_of(known))]
    tables += [] if ood is None else [replace(tables[0], path=ood, labels=None)]
    with open_rows(tables, engine, workers) as (rows, *others):
        scorer = scorer_for(rows, known, head)
        _report(compute_metrics(rows, scorer, *others), scorer.head.name, as_json)


def _report(values: Values, head: str, as_json: bool) -> None:
    if as_json:
        plain = {name: value.value if isinstance(value, Estimate) else value for name, value in values.items()}
        bounds = {name: value.bound for name, value in values.items() if isinstance(value, Estimate)}
        print_json({"head": head, **plain, "bounds": bounds})
        return
    click.echo(
        aligned([[NAMES[name], _number(value)] for name, value in values.items() if value or name != "ood_rows"])
    )


def _number(value: float | Estimate) -> str:
    """A value with the bound of its error by binning, unless that is below the six digits shown. It is no standard
    error, which ± would say."""
    if isinstance(value, Estimate):
        return f"{value.value:.6f}" + (f" (within {value.bound:.1g})" if value.bound > 5e-7 else "")
    return f"{value:,}" if isinstance(value, int) else f"{value:.6f}"
