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

    parts = {
        "experiments": list(experiments()),
        "trained on": list(DATASET_RECIPES),
        "presets": list(PRESETS),
        "methods": list(methods(plugins)),
    }
    click.echo("\n".join(f"{name}: {', '.join(values)}" for name, values in parts.items()))
