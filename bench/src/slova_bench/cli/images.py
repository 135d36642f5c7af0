"""`slova bench images`: all shifted test images, made ahead of time."""

from __future__ import annotations

import os
from pathlib import Path

import click

from slova_bench.cli.options import data_dir, store

__all__ = ["images"]


@click.command()
@click.option("--on", default="cifar10", show_default=True, help="The data set whose test images are shifted.")
@click.option("--workers", type=click.IntRange(1), help="Processes.  [one per core]")
@data_dir
@store
def images(on: str, workers: int | None, data: Path | None, store: Path) -> None:
    """Make all shifted test images ahead of time, on all cores.

    Example: slova bench images --on cifar10
    """
    from slova_bench.runner import Plan
    from slova_bench.test_sets import prepare

    bench = Plan(experiment="shift", on=on, device="cpu", data=data, store=store).bench()
    for number, test in enumerate(prepare(bench, workers or os.cpu_count() or 1), start=1):
        click.echo(f"{number:3d} {test.shift} {test.level:g}", err=True)
