"""`slova bench list`: what can be run."""

from __future__ import annotations

from pathlib import Path

import click

from slova_bench.cli.options import plugin

__all__ = ["listing"]


@click.command()
@plugin
def listing(plugins: tuple[Path, ...]) -> None:
    """List experiments, data sets, presets and methods.

    Example: slova bench list
    """
    from slova_bench.dataset_recipes import DATASET_RECIPES
    from slova_bench.experiments import experiments
    from slova_bench.methods import methods
    from slova_bench.presets import PRESETS

    click.echo(f"experiments: {', '.join(experiments())}")
    click.echo(f"trained on: {', '.join(DATASET_RECIPES)}")
    click.echo(f"presets: {', '.join(PRESETS)}")
    click.echo(f"methods: {', '.join(methods(plugins))}")
