"""`slova bench run`: one experiment, or what is left of it."""

from __future__ import annotations

from typing import Any

import click

from slova_bench.cli.options import Minutes, data_dir, plugin, results, store

__all__ = ["run"]


@click.command()
@click.argument("experiment")
@click.option("--on", default="digits", show_default=True, help="The data set to train on.")
@click.option("--methods", help="Only these, separated by commas.  [all of the experiment]")
@click.option("--seeds", default="1", show_default=True, help="How many, or which, separated by commas.")
@click.option(
    "--preset",
    default="fair",
    show_default=True,
    help="fair: one recipe for all; paper: each method's as published; authors, searched, small_batch, "
    "interpolated and resnet18: another one for all (see slova_bench.presets).",
)
@click.option("--minutes", type=Minutes(0, min_open=True), help="Stop after this long; run again to continue.")
@click.option("--embedded", is_flag=True, help="Use the stored logits of slova-bench instead of networks.")
@click.option("--quick", is_flag=True, help="A tenth of the epochs and 200 test images, to see that it runs.")
@click.option("--device", default="auto", show_default=True, help="cpu, cuda, or auto for the best available.")
@click.option("--bf16", is_flag=True, help="Train in bfloat16 on a processor too, as on a GPU: fast where it has it.")
@data_dir
@results
@store
@plugin
def run(methods: str | None, seeds: str, **options: Any) -> None:
    """Run EXPERIMENT, or what is left of it, and append its rows to a CSV file.

    Example: slova bench run shift --on digits --methods softmax,slova
    """
    from slova_bench.cli.progress import run_with_progress
    from slova_bench.cli.summary import summary
    from slova_bench.runner import Plan

    plan = Plan(methods=_words(methods), seeds=_numbers(seeds), **options)
    rows, left = run_with_progress(plan)
    if left:
        click.echo(f"stopped after {plan.minutes:g} minutes, {left:,} sets before the end: run it again", err=True)
    elif silent := [method.name for method in plan.chosen() if method.name not in {row.method for row in rows}]:
        click.echo(f"{plan.experiment} measures nothing of {', '.join(silent)}", err=True)
    click.echo(summary(rows, plan.kind))


def _words(text: str | None) -> tuple[str, ...] | None:
    if text is None:
        return None
    words = tuple(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))
    if not words:
        raise click.ClickException(f"--methods must be names such as softmax,slova; got {text!r}")
    return words


def _numbers(text: str) -> tuple[int, ...]:
    """Seeds: "3" is the first three, "0,2,5" are these, "3," is that one."""
    error = click.ClickException(f"--seeds must be a count such as 5, or a list such as 0,2 or 3, (got {text!r})")
    try:
        numbers = tuple(dict.fromkeys(int(part) for part in text.removesuffix(",").split(",")))
    except ValueError:
        raise error from None
    if min(numbers) < (0 if "," in text else 1):
        raise error
    return numbers if "," in text else tuple(range(numbers[0]))
