"""`slova report`: a model's logits as one HTML page."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import click

from slova._progress import tracked
from slova.artifact import atomic_path
from slova.batch.map_reduce import check_scorer
from slova.cli.files import check_output, scorer_or_none
from slova.cli.options import FILE, batch_size, head_or_model, labels_file, max_memory
from slova.cli.stream import Streamed, columns_of, scorer_for
from slova.io import Table, read_text_columns
from slova.scorer import Scorer

__all__ = ["report", "write"]


@click.command()
@click.argument("logits", type=FILE)
@click.option(
    "-o", "--output", type=FILE, default="report.html", show_default=True, help="The page to write; - is stdout."
)
@labels_file
@head_or_model
@click.option(
    "--ood", type=FILE, multiple=True, help="Logits of out-of-distribution inputs; may be given more than once."
)
@click.option("--before", type=FILE, help="Earlier logits, without labels: has the data drifted since?")
@click.option("--groups", type=FILE, help="A csv file with one row per row of LOGITS: a table per column of it.")
@batch_size
@max_memory
def report(
    logits: Path,
    output: Path,
    labels: Path | None,
    model: Path | None,
    head: str | None,
    ood: tuple[Path, ...],
    before: Path | None,
    groups: Path | None,
    size: int | None,
    memory: int,
) -> None:
    """Show how well LOGITS with labels are calibrated, and what to do about it, as one offline HTML page.

    Example: slova report test.npz --model model.slova --ood ood.npz
    """
    check_output(output, logits, labels, model, *ood, *filter(None, (before, groups)))
    from slova.report import advised_page, details_of, measure, render, usage_of

    start = time.monotonic()
    known = scorer_or_none(model, head)
    table = Table(logits, labels, size, memory, columns_of(known))
    scorer = scorer_for(Streamed(table), known, head)
    unlabelled = replace(table, labels=None, expected=columns_of(scorer))
    others = _by_name([replace(unlabelled, path=path) for path in ood])
    earlier = None if before is None else replace(unlabelled, path=before)
    for each in (*others.values(), *filter(None, [earlier])):
        check_scorer(Streamed(each), scorer)
    found = [measure(name, one, table, others, progress=tracked) for name, one in _scorers(known, scorer).items()]
    blocks = partial(Table.blocks, classes=columns_of(scorer))
    details = details_of(scorer, blocks(table, labelled=True), None if groups is None else read_text_columns(groups))
    usage = None if earlier is None else usage_of(scorer, blocks(earlier))
    lede = _lede(int(found[0].ece.count.sum()), scorer, model)
    calibrated = scorer.calibrator is not None
    html = render(advised_page(logits.name, lede, found, details, calibrated=calibrated, before=usage))
    write(output, html)
    click.echo(f"{len(html.encode()) / 1e6:.2f} MB in {time.monotonic() - start:.1f} s", err=True)


def _scorers(known: Scorer | None, scorer: Scorer) -> dict[str, Scorer]:
    """With a calibrator, the same head without it as well."""
    if known is None:
        return {"This model": scorer}
    bare = replace(scorer, before=None, calibrator=None, none_calibrator=None)
    return {"Before calibration": bare, "Calibrated": scorer}


def _by_name(tables: Sequence[Table]) -> dict[str, Table]:
    """Files by their names, with their folders where two have the same name."""
    names = [table.path.name for table in tables]
    return {t.path.name if names.count(t.path.name) == 1 else str(t.path): t for t in tables}


def _lede(rows: int, scorer: Scorer, model: Path | None) -> str:
    calibrated = "not calibrated" if model is None else f"calibrated by {model.name}"
    return f"{rows:,} rows of {scorer.classes} classes, head {scorer.head.name}, {calibrated}."


def write(output: Path, html: str) -> None:
    """Write a page to a file, whole or not at all, and print its name; or write it to standard output."""
    if str(output) == "-":
        click.echo(html)
        return
    with atomic_path(output) as temporary:
        temporary.write_text(html, encoding="utf-8")
    click.echo(output)
