"""Options that several commands share. Choices are those of the registries."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from slova.batch import ENGINES
from slova.heads import HEADS
from slova.io.blocks import MEMORY

__all__ = [
    "FILE",
    "HEAD",
    "SHARE",
    "as_json",
    "batch_size",
    "engine",
    "head_or_model",
    "labels_file",
    "max_memory",
    "thresholds",
    "workers",
]

Command = Callable[..., Any]

FILE = click.Path(path_type=Path, readable=False)  # the reader of a file reports what is wrong with it
SHARE = click.FloatRange(0.0, 1.0)
HEAD = click.Choice(["auto", *HEADS])
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
max_memory = click.option(
    "--max-memory",
    "memory",
    type=click.IntRange(1),
    default=MEMORY >> 20,
    show_default=True,
    metavar="MIB",
    callback=lambda context, option, value: value << 20,
    help="Maximum size of the arrays that are read at once; larger ones are refused unread.",
)
engine = click.option(
    "--engine",
    type=click.Choice(list(ENGINES)),
    help="Work in parts on this engine: LOGITS is a parquet file or a folder of them.",
)
workers = click.option(
    "--workers", type=click.IntRange(1), help="Processes of an --engine that is started here.  [one per core]"
)


def head_or_model(command: Command) -> Command:
    """--model, or --head for logits without a model."""
    model = click.option("--model", type=FILE, help="A file that `slova fit` wrote; without it nothing is calibrated.")
    head = click.option("--head", type=HEAD, help="How logits are read, if there is no --model.  [auto]")
    return model(head(command))


def thresholds(command: Command) -> Command:
    """--reject, --risk and --coverage, of which at most one may be given."""
    reject = click.option(
        "--reject", type=SHARE, help="Answer -1 where the confidence is below this.  [a saved classifier's; else 0]"
    )
    risk = click.option(
        "--risk", type=SHARE, help="Reject so that at most this share of the answers is wrong, with 95 % certainty."
    )
    coverage = click.option(
        "--coverage", type=SHARE, help="Reject so that this share is answered, with a certainty of 95 %."
    )
    return reject(risk(coverage(command)))
