"""`slova report`: results, or a model's own logits, as one HTML page."""

from __future__ import annotations

import importlib
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from slova.artifact import atomic_path
from slova.cli.files import check_output

if TYPE_CHECKING:
    from slova_bench.results_folder import ResultsFolder

__all__ = ["ReportOptions", "check_extra", "comparison", "run", "write"]


@dataclass(frozen=True, kw_only=True)
class ReportOptions:
    logits: Path | None
    output: Path
    results: Path
    docs: Path | None
    figures: Path | None
    cards: Path | None
    labels: Path | None
    map_file: Path | None
    head: str | None
    ood: tuple[Path, ...]
    size: int | None


def run(options: ReportOptions) -> None:
    _check(options)
    check_extra()
    start = time.monotonic()
    html = _comparison(options) if options.logits is None else _own(options, options.logits)
    write(options.output, html)
    click.echo(f"{len(html.encode()) / 1e6:.2f} MB in {time.monotonic() - start:.1f} s", err=True)


def _check(options: ReportOptions) -> None:
    """Options of the one kind of page do not go with the other."""
    of_results = {"--docs": options.docs, "--figures": options.figures, "--cards": options.cards}
    of_logits = {"--labels": options.labels, "--map": options.map_file, "--head": options.head, "--ood": options.ood}
    wrong, why = (
        (of_logits, "belongs to a file of logits, and none was named")
        if options.logits is None
        else (of_results, "belongs to a folder of results, not to a file of logits")
    )
    for name, value in wrong.items():
        if value:
            raise click.UsageError(f"{name} {why}")
    check_output(options.output, options.logits, options.labels, options.map_file, *options.ood)


def check_extra() -> None:
    for name in ("altair", "jinja2", "matplotlib", "vl_convert", "pyarrow"):
        try:
            importlib.import_module(name)
        except ImportError:
            raise click.ClickException(f'a report needs {name}: pip install "slova[report]"') from None


def _comparison(options: ReportOptions) -> str:
    html = comparison(options.results)
    _beside(options)
    return html


def comparison(results: Path) -> str:
    """The page of a folder of results."""
    from slova_bench.report.comparison import comparison
    from slova_bench.report.page import render
    from slova_bench.results_folder import MissingRowsError, ResultsFolder

    if not results.is_dir():
        raise click.ClickException(f"there is no folder {results}: run slova bench run shift --on digits")
    try:
        return render(comparison(ResultsFolder.read(results)))
    except MissingRowsError as error:
        raise click.ClickException(str(error)) from None


def _beside(options: ReportOptions) -> None:
    """The other forms of the same results."""
    from slova_bench.results_folder import ResultsFolder

    evidence = ResultsFolder.read(options.results)
    if options.docs is not None:
        from slova_bench.report.docs import write_docs

        options.docs.mkdir(parents=True, exist_ok=True)
        write_docs(evidence, options.docs)
        click.echo(options.docs)
    if options.figures is not None:
        from slova_bench.report.pictures import write_figures

        options.figures.mkdir(parents=True, exist_ok=True)
        for sentence in write_figures(evidence, options.figures):
            click.echo(sentence, err=True)
        click.echo(options.figures)
    if options.cards is not None:
        _cards(evidence, options.cards)


def _cards(evidence: ResultsFolder, folder: Path) -> None:
    from slova_bench.report.cards import write_cards

    write_cards(evidence, folder)
    click.echo(folder)


def _own(options: ReportOptions, logits: Path) -> str:
    from slova_bench.report.page import render

    from slova.cli.report_own import own_page

    return render(own_page(options, logits))


def write(output: Path, html: str) -> None:
    """To a file, whole or not at all, whose name is said; or to standard output."""
    if str(output) == "-":
        click.echo(html)
        return
    with atomic_path(output) as temporary:
        temporary.write_text(html, encoding="utf-8")
    click.echo(output)
