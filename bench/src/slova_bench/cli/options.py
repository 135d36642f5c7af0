"""Options that several commands of the comparison share."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import Any

import click

from slova.cli.options import FILE

__all__ = ["FOLDER", "Minutes", "data_dir", "plugin", "results", "store"]

VARIABLE = "SLOVA_DATA"
FOLDER = click.Path(path_type=Path, readable=False, file_okay=False)


class Minutes(click.FloatRange):
    """A range of numbers without nan, which is inside of every other range."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        found = super().convert(value, param, ctx)
        return self.fail("nan is not a number of minutes", param, ctx) if math.isnan(found) else found


def _for_frost(context: click.Context, option: click.Parameter, folder: Path | None) -> Path | None:
    """The frost pictures are looked for in the same folder, by the variable, for as long as the command runs."""
    if folder is not None:
        before = os.environ.get(VARIABLE)
        os.environ[VARIABLE] = str(folder)
        context.call_on_close(
            lambda: os.environ.pop(VARIABLE) if before is None else os.environ.update({VARIABLE: before})
        )
    return folder


data_dir = click.option(
    "--data-dir",
    "data",
    type=FOLDER,
    callback=_for_frost,
    help="The folder of the data sets.  [SLOVA_DATA, or the user's cache]",
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
