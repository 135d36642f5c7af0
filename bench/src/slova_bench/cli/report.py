"""`slova bench report`: a folder of results as one HTML page, and as markdown, figures and cards."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from slova.cli.files import check_output
from slova.cli.options import FILE
from slova.cli.report import write
from slova_bench.cli.options import FOLDER, results

if TYPE_CHECKING:
    from slova_bench.results_folder import ResultsFolder

__all__ = ["comparison_page", "report"]


@click.command()
@click.option(
    "-o", "--output", type=FILE, default="report.html", show_default=True, help="The page to write; - is stdout."
)
@results
@click.option("--docs", type=FOLDER, help="Write the same results as markdown to this folder, too.")
@click.option("--figures", type=FOLDER, help="Write every figure as SVG and PNG to this folder, too.")
@click.option("--cards", type=FOLDER, help="Write a card for each network worth shipping to this folder, too.")
def report(output: Path, results: Path, docs: Path | None, figures: Path | None, cards: Path | None) -> None:
    """Show the results of the comparison as one offline HTML page.

    Example: slova bench report --results results --docs docs
    """
    from slova_bench.report.cards import write_cards
    from slova_bench.report.docs import write_docs
    from slova_bench.results_folder import ResultsFolder

    check_output(output)
    start = time.monotonic()
    page, found = comparison_page(results), ResultsFolder.read(results)
    for folder, other in ((docs, write_docs), (figures, _figures), (cards, write_cards)):
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
            other(found, folder)
            click.echo(folder)
    write(output, page)
    click.echo(f"{len(page.encode()) / 1e6:.2f} MB in {time.monotonic() - start:.1f} s", err=True)


def comparison_page(results: Path) -> str:
    """The page of a folder of results."""
    from slova.report.page import render
    from slova_bench.report.comparison import comparison
    from slova_bench.results_folder import MissingRowsError, ResultsFolder

    if not results.is_dir():
        raise click.ClickException(f"there is no folder {results}: run slova bench run shift --on digits")
    try:
        return render(comparison(ResultsFolder.read(results)))
    except MissingRowsError as error:
        raise click.ClickException(str(error)) from None


def _figures(results: ResultsFolder, folder: Path) -> None:
    from slova_bench.exhibits import draw

    for sentence in draw(results, folder, ("svg", "png"))[1]:
        click.echo(sentence, err=True)
