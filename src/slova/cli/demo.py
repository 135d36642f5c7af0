"""`slova demo`: train on digits, and see what three networks say of pictures that are no digits they know."""

from __future__ import annotations

from pathlib import Path

import click

from slova._progress import progress
from slova.cli.options import FILE
from slova.cli.report import write
from slova.cli.terminal import aligned

__all__ = ["demo"]


@click.command()
@click.option(
    "-o", "--output", type=FILE, default="slova-demo.html", show_default=True, help="The page to write; - is stdout."
)
def demo(output: Path) -> None:
    """Train a classifier of the digits 0 to 7 that can answer NONE, and show it beside softmax: a table here, and one
    offline HTML page with pictures. It takes about a minute and downloads nothing.

    Example: slova demo -o demo.html
    """
    from slova.demo import load, measure, page, table, train_all, verdicts  # names what is not installed
    from slova.demo.page import COMMANDS
    from slova.demo.results import PROMISE, RISKS

    with progress("training three networks") as report:
        import torch

        torch.set_num_threads(1)  # small networks: on a busy machine threads wait for each other, ten times as long
        digits = load()
        results = measure(train_all(digits, report), digits)
    risk = RISKS[PROMISE]
    click.echo(
        f"Each network answers where its confidence is at least {1 - risk:.0%}: at most {risk:.0%} may be wrong.\n"
    )
    click.echo(aligned(table(results, PROMISE)))
    titles = {"better": "slova is better", "unclear": "no clear difference", "worse": "slova is worse"}
    for rival, found in verdicts(results, PROMISE).items():
        click.echo(f"\nAgainst {rival}:")
        for name, title in titles.items():
            click.echo("\n".join([f"  {title}:", *(f"    {one}" for one in found[name] or ["nothing"])]))
    click.echo("\nTry next:")
    click.echo("\n".join(f"  {command:70} # {what}" for command, what in COMMANDS.items()) + "\n")
    write(output, page(results))
