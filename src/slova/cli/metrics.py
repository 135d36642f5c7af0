"""`slova metrics`: a file of logits with labels, block by block, to a table of metrics."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce
from operator import add
from pathlib import Path

import click

from slova.cli.files import load_scorer
from slova.cli.measures import BINS, Added, Answers, Foreign, Measures, Values
from slova.cli.terminal import aligned, print_json, tracked
from slova.metrics import Estimate
from slova.scorer import HEADS, Scorer
from slova.tables import Block, Table

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
    size: int | None
    as_json: bool


def run(options: MetricsOptions) -> None:
    if options.map_file is not None and options.head is not None:
        raise click.UsageError("--head belongs to logits without a --map, which has a head of its own")
    known = None if options.map_file is None else load_scorer(options.map_file)
    table = Table(options.logits, options.labels, options.size)
    scorer = known or Scorer(classes=table.classes(), head=HEADS[options.head or "slova"])
    measured = reduce(add, (_Measured.of(scorer, block) for block in _blocks(table, scorer, labelled=True)))
    foreign = measured.foreign
    if options.ood is not None:
        ood = _blocks(Table(options.ood, size=options.size), scorer, labelled=False)
        foreign = reduce(add, (Foreign.of(Answers.of(scorer, block.logits).confidence) for block in ood), foreign)
    rows = {"rows": measured.measures.mmc.count, "ood_rows": foreign.mmc.count}
    _report(rows, measured.measures.values() | foreign.values(), options.as_json)


def _blocks(table: Table, scorer: Scorer, *, labelled: bool) -> Iterator[Block]:
    return tracked(table.blocks(labelled=labelled, classes=scorer.classes), f"measuring {table.path.name}")


@dataclass(frozen=True)
class _Measured(Added):
    measures: Measures
    foreign: Foreign

    @classmethod
    def of(cls, scorer: Scorer, block: Block) -> _Measured:
        answers = Answers.of(scorer, block.logits, block.labels)
        return cls(Measures.of(scorer, block, answers), Foreign.of(answers.confidence, block.labels))


def _report(rows: dict[str, int], values: Values, as_json: bool) -> None:
    if as_json:
        plain = {name: value.value if isinstance(value, Estimate) else value for name, value in values.items()}
        bounds = {name: value.bound for name, value in values.items() if isinstance(value, Estimate)}
        print_json({**rows, **plain, "bounds": bounds})
        return
    counts = [[NAMES[name], f"{count:,}"] for name, count in rows.items() if count]
    click.echo(aligned([*counts, *([NAMES[name], _number(value)] for name, value in values.items())]))


def _number(value: float | Estimate) -> str:
    """A value known only within a bound says so; a bound of 5e-7 or less shows in none of the six digits."""
    if isinstance(value, Estimate):
        return f"{value.value:.6f}" + (f" ± {value.bound:.1g}" if value.bound > 5e-7 else "")
    return f"{value:.6f}"
