"""`slova score`: predictions for a file of logits, block by block, or on an engine for a folder of parquet files."""

from __future__ import annotations

from pathlib import Path

import click
import numpy as np

from slova._detect import check_kind
from slova._progress import tracked
from slova._scorer_file import Saved, file_labels
from slova.batch.commit import check_folder
from slova.batch.engines import open_engine
from slova.batch.jobs import score as score_files
from slova.batch.partitions import ParquetFiles
from slova.cli.files import check_output, load, threshold
from slova.cli.options import FILE, as_json, batch_size, engine, max_memory, thresholds, workers
from slova.cli.stream import check_engine_options
from slova.cli.terminal import print_json
from slova.heads import NONE
from slova.io import Table, open_output

__all__ = ["score"]


@click.command()
@click.argument("logits", type=FILE)
@click.option("--model", type=FILE, required=True, help="A file of `slova fit`, or a saved classifier.")
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
@click.option("--overwrite", is_flag=True, help="With --engine: replace a folder of earlier predictions.")
@batch_size
@max_memory
@as_json
def score(
    logits: Path,
    model: Path,
    output: Path,
    engine: str | None,
    workers: int | None,
    overwrite: bool,
    size: int | None,
    memory: int,
    as_json: bool,
    **thresholds: float | None,
) -> None:
    """Predict label, confidence, none and ambiguous for LOGITS, or for probabilities if the model was fitted to some.
    Labels are class indices, or names if a saved classifier has names; -1 is NONE.

    Example: slova score test.npz --model model.slova --risk 0.05 -o out.parquet
    """
    if as_json and str(output) == "-":
        raise click.UsageError("--json and -o - both write to stdout: give an output file")
    check_engine_options(engine, logits, workers=workers, overwrite=overwrite)
    if engine is None:
        check_output(output, logits, model)
    elif str(output) == "-":
        raise click.UsageError("--engine writes a folder of parquet files: give it with -o")
    saved = load(model)
    reject = threshold(saved, thresholds)
    if engine is None:
        rows, rejected = _score(Table(logits, size=size, memory=memory), output, saved, reject)
    else:
        table = ParquetFiles.of(logits, size=size, memory=memory)
        check_folder(output, overwrite=overwrite, inputs=table.files, option="--overwrite")
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
    """The number of rows, and of rejected ones among them."""
    rows, rejected, columns = 0, 0, saved.scorer.head.columns or saved.scorer.classes
    label_names = None if saved.names is None else file_labels(saved.names, saved.scorer.classes)
    with open_output(output) as write:
        for block in tracked(table.blocks(classes=columns), "scoring"):
            check_kind(saved.scorer.head, block.logits, named=block.probs)
            prediction = saved.scorer.predict(block.logits, reject=reject)
            rows, rejected = rows + len(prediction.label), rejected + int((prediction.label == NONE).sum())
            label = prediction.label if label_names is None else label_names[prediction.label]
            write({name: np.asarray(column) for name, column in (prediction.to_dict() | {"label": label}).items()})
    return rows, rejected
