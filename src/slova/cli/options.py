"""Options that several commands have."""

from __future__ import annotations

from pathlib import Path

import click

__all__ = ["FILE", "SHARE", "as_json", "batch_size", "engine", "heads", "labels_file", "plugin", "workers"]

FILE = click.Path(path_type=Path, readable=False)  # what is wrong with a file is said by whoever opens it
SHARE = click.FloatRange(0.0, 1.0)
as_json = click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout; an infinite number is null.")
labels_file = click.option(
    "--labels", type=FILE, help="The file of the labels, if not in the same file (always for npy)."
)
batch_size = click.option(
    "--batch-size",
    "size",
    type=click.IntRange(1),
    metavar="ROWS",
    help="Rows at a time.  [65,536; fewer with more than 32 classes]",
)
heads = click.Choice(["slova", "ova", "softmax"])
plugin = click.option(
    "--plugin",
    "plugins",
    type=FILE,
    multiple=True,
    callback=lambda context, option, paths: tuple(path.resolve() for path in paths),
    help="A Python file with a METHOD of your own, run beside the others, or --methods; may be given more than once.",
)
engine = click.option(
    "--engine",
    type=click.Choice(["local", "ray", "spark"]),
    help="Do it in pieces on this engine: LOGITS is a parquet file or a folder of them.",
)
workers = click.option(
    "--workers", type=click.IntRange(1), help="Processes of an --engine that is started here.  [one a core]"
)
