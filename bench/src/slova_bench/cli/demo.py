"""`slova bench demo`: the comparison on data that come with slova-bench, as a table and a page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from slova.cli.report import write
from slova.cli.terminal import aligned
from slova_bench.cli.options import FOLDER
from slova_bench.cli.report import comparison_page

if TYPE_CHECKING:
    from slova_bench.frame import Frame
    from slova_bench.runner import Plan
    from slova_bench.tables import Table

__all__ = ["demo"]

STORED = ("shift", "ood", "ablation", "stability", "maps", "appendix")
TRAINED = (*STORED, "directions", "plane")


@click.command()
@click.option(
    "--on",
    type=click.Choice(["cifar10", "digits"]),
    default="cifar10",
    show_default=True,
    help="cifar10: stored logits of real networks, in seconds; digits: every method is trained, in minutes.",
)
@click.option(
    "-o", "--output", "folder", type=FOLDER, default="slova-demo", show_default=True, help="The folder to write."
)
def demo(on: str, folder: Path) -> None:
    """Run the comparison on data that come with slova-bench, and show it as a table and an HTML page. Rows that are in
    the folder already are not computed again.

    Example: slova bench demo --on digits
    """
    from slova_bench.cli.progress import run_with_progress

    for plan in _plans(on, folder):
        click.echo(f"{plan.experiment} on {on}", err=True)
        run_with_progress(plan)
    page = comparison_page(folder / "results")
    click.echo(_summary(folder / "results", on))
    write(folder / "report.html", page)


def _plans(on: str, folder: Path) -> list[Plan]:
    from slova_bench.runner import Plan

    stored = on != "digits"
    where = {"on": on, "results": folder / "results", "store": folder / "store", "models": None, "embedded": stored}
    return [Plan(experiment=name, **where) for name in (STORED if stored else TRAINED)]  # type: ignore[arg-type]


def _summary(results: Path, on: str) -> str:
    from slova_bench.results_folder import ResultsFolder
    from slova_bench.tables import overview

    found = ResultsFolder.read(results)
    return "\n".join([_text(overview.make(found, on)[0]), "", _size(found.rows("shift", on))])


def _text(table: Table) -> str:
    heads = [[column.group for column in table.columns], [column.name for column in table.columns]]
    return "\n".join([table.title, "", aligned([*heads, *([entry.text for entry in row] for row in table.rows)])])


def _size(rows: Frame) -> str:
    """The number of seeds and images of the table, and where there are more."""
    seeds = rows["seed"].nunique()
    some, whole = (rows.loc[(rows["shift"] != "") == shifted, "n"].max() for shifted in (True, False))
    size = f"{seeds} seed{'s' if seeds > 1 else ''}, {some:,} images of every shift"
    return f"{size}; with {whole:,} images and more seeds: docs/results.md" if some < whole else size
