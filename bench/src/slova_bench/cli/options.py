"""Options that several commands of the comparison share."""

from __future__ import annotations

import click

from slova.cli.options import FILE

__all__ = ["data_dir", "plugin", "results", "store"]

data_dir = click.option(
    "--data-dir", "data", type=FILE, help="The folder of the data sets.  [SLOVA_DATA, or the user's cache]"
)
results = click.option("--results", type=FILE, default="results", show_default=True, help="The folder of the rows.")
store = click.option(
    "--store", type=FILE, default=".slova", show_default=True, help="The folder for weights and images."
)
plugin = click.option(
    "--plugin",
    "plugins",
    type=FILE,
    multiple=True,
    callback=lambda context, option, paths: tuple(path.resolve() for path in paths),
    help="A Python file with a METHOD of your own, run beside the others, or --methods; may be given more than once.",
)
