"""`slova score`: a file of logits, block by block, to a file of label, confidence, P(none) and P(several).

On an engine: parquet files, piece by piece, to a folder of them.
"""

from __future__ import annotations

from pathlib import Path

import click
import numpy as np

from slova.batch.commit import check_folder
from slova.batch.jobs import score as score_files
from slova.batch.partitions import ParquetFiles
from slova.batch.engines import open_engine
from slova.cli.files import check_output, load, threshold
from slova.cli.options import FILE, as_json, batch_size, engine, thresholds, workers
from slova.cli.stream import check_engine_options
from slova.cli.terminal import print_json, tracked
from slova.heads import NONE
from slova.io import Table, open_output
from slova.saved import Saved, texts

__all__ = ["score"]


@click.command()
@click.argument("logits", type=FILE)
@click.option(
    "--model", type=FILE, required=True, help="The scorer file that `slova fit` wrote, or a saved classifier."
)
@click.option(
    "-o",
    "--output",
    type=FILE,
    default="-",
    help="A csv, npz, npy or parquet file, with --engine a folder; - is csv on stdout.  [-]",
)
@thresholds
@engine
@workers
@click.option("--overwrite", is_flag=True, help="With --engine: replace a folder of earlier answers.")
@batch_size
@as_json
def score(
    logits: Path,
    model: Path,
    output: Path,
    engine: str | None,
    workers: int | None,
    overwrite: bool,
    size: int | None,
    as_json: bool,
    **thresholds: float | None,
) -> None:
    """Turn LOGITS into label, confidence, P(none) and P(several). Labels are numbers, or the names that a saved
    classifier has for them; -1 is none of the classes.

    Example: slova score test.npz --model model.slova --risk 0.05 -o out.parquet
    """
    if as_json and str(output) == "-":
        raise click.UsageError("--json and -o - both write to stdout: name an output file")
    check_engine_options(engine, workers=workers, overwrite=overwrite)
    if engine is None:
        check_output(output, logits, model)
    elif str(output) == "-":
        raise click.UsageError("an --engine writes a folder of parquet files: name it with -o")
    saved = load(model)
    reject = threshold(saved, thresholds)
    if engine is None:
        rows, rejected = _score(Table(logits, size=size), output, saved, reject)
    else:
        table = ParquetFiles.of(logits, size=size)
        check_folder(output, overwrite=overwrite, inputs=table.files)
        with open_engine(engine, workers) as run:
            found = score_files(
                table, output, saved.scorer, reject=reject, names=saved.names, overwrite=overwrite, engine=run
            )
        rows, rejected = found.rows, found.rejected
    if as_json:
        print_json({"output": str(output), "rows": rows, "reject": reject, "rejected": rejected})
    else:
        click.echo(f"{rows:,} rows, {rejected:,} of them rejected (confidence below {reject:.6g})", err=True)


def _score(table: Table, output: Path, saved: Saved, reject: float) -> tuple[int, int]:
    """How many rows were written, and how many of them rejected."""
    rows = rejected = 0
    called = None if saved.names is None else texts(saved.names, saved.scorer.classes)
    with open_output(output) as write:
        for block in tracked(table.blocks(classes=saved.scorer.classes), "scoring"):
            prediction = saved.scorer.predict(block.logits, reject=reject)
            rows, rejected = rows + len(prediction.label), rejected + int((prediction.label == NONE).sum())
            answers = prediction if called is None else prediction._replace(label=called[prediction.label])
            write({name: np.asarray(column) for name, column in answers._asdict().items()})
    return rows, rejected
