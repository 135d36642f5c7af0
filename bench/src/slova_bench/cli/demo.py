"""`slova demo`: the comparison on what comes with slova, ending in a table and a page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from slova_bench.results import Row
    from slova_bench.runner import Plan
    from slova_bench.tables import Table

__all__ = ["run"]

STORED = ("shift", "ood", "ablation", "stability", "maps", "appendix")
TRAINED = (*STORED, "directions", "plane")


def run(on: str, folder: Path) -> None:
    """What is in the folder already is not computed again."""
    from slova.cli.report import check_extra as check_report_extra
    from slova.cli.report import comparison, write
    from slova_bench.cli.bench import check_extra, told

    check_extra()
    check_report_extra()
    for plan in _plans(on, folder):
        click.echo(f"{plan.experiment} on {on}", err=True)
        told(plan)
    page = comparison(folder / "results")
    click.echo(_shown(folder / "results", on))
    write(folder / "report.html", page)


def _plans(on: str, folder: Path) -> list[Plan]:
    from slova_bench.runner import Plan

    stored = on != "digits"
    where = {"on": on, "results": folder / "results", "store": folder / "store", "models": None, "embedded": stored}
    return [Plan(experiment=name, **where) for name in (STORED if stored else TRAINED)]  # type: ignore[arg-type]


def _shown(results: Path, on: str) -> str:
    from slova_bench.results_folder import ResultsFolder
    from slova_bench.tables import overview

    evidence = ResultsFolder.read(results)
    return "\n".join([_text(overview.make(evidence, on)[0]), "", _size(evidence.rows("shift", on))])


def _text(table: Table) -> str:
    from slova.cli.terminal import aligned

    heads = [[column.group for column in table.columns], [column.name for column in table.columns]]
    return "\n".join([table.title, "", aligned([*heads, *([entry.text for entry in row] for row in table.rows)])])


def _size(rows: list[Row]) -> str:
    """How much is behind the table, and where there is more."""
    seeds = len({row.seed for row in rows})
    some, whole = (max(row.n for row in rows if bool(row.shift) is shifted) for shifted in (True, False))
    said = f"{seeds} seed{'s' if seeds > 1 else ''}, {some:,} images of every shift"
    return f"{said}; {whole:,} and more seeds: docs/results.md" if some < whole else said
