"""Options that several commands of the comparison share."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import click

from slova.cli.options import FILE

__all__ = ["FOLDER", "Minutes", "data_dir", "plugin", "results", "store"]

FOLDER = click.Path(path_type=Path, readable=False, file_okay=False)


class Minutes(click.FloatRange):
    """A range of numbers without nan, which is inside of every other range."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        found = super().convert(value, param, ctx)
        return self.fail("nan is not a number of minutes", param, ctx) if math.isnan(found) else found


data_dir = click.option(
    "--data-dir", "data", type=FOLDER, help="The folder of the data sets.  [SLOVA_DATA, or the user's cache]"
)
results = click.option("--results", type=FOLDER, default="results", show_default=True, help="The folder of the rows.")
store = click.option(
    "--store", type=FOLDER, default=".slova", show_default=True, help="The folder for weights and images."
)
plugin = click.option(
    "--plugin",
    "plugins",
    type=FILE,
    multiple=True,
    callback=lambda context, option, paths: tuple(path.resolve() for path in paths),
    help="A Python file with a METHOD of your own, run beside the others, or --methods; may be given more than once.",
)
