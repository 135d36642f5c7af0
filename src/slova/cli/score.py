"""`slova score`: a file of logits, block by block, to a file of label, confidence, P(none) and P(several).

On an engine: parquet files, piece by piece, to a folder of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import click
import numpy as np

from slova.batch.commit import check_folder
from slova.batch.files import score
from slova.batch.pieces import Parquet
from slova.batch.running import opened
from slova.cli.files import check_output, load, threshold
from slova.cli.stream import check_engine_options
from slova.cli.terminal import print_json, tracked
from slova.heads import NONE
from slova.io import Table, created
from slova.saved import Saved, texts

__all__ = ["ScoreOptions", "run"]


@dataclass(frozen=True, kw_only=True)
class ScoreOptions:
    logits: Path
    map_file: Path
    output: Path
    reject: float | None
    risk: float | None
    coverage: float | None
    engine: str | None
    workers: int | None
    overwrite: bool
    size: int | None
    as_json: bool


def run(options: ScoreOptions) -> None:
    if options.as_json and str(options.output) == "-":
        raise click.UsageError("--json and -o - both want stdout: name an output file")
    check_engine_options(options.engine, workers=options.workers, overwrite=options.overwrite)
    if options.engine is None:
        check_output(options.output, options.logits, options.map_file)
    saved = load(options.map_file)
    reject = threshold(saved, {name: getattr(options, name) for name in ("reject", "risk", "coverage")})
    rows, rejected = (_score if options.engine is None else _score_on_engine)(saved, reject, options)
    if options.as_json:
        print_json({"output": str(options.output), "rows": rows, "reject": reject, "rejected": rejected})
    else:
        click.echo(f"{rows:,} rows, {rejected:,} of them rejected (confidence below {reject:.6g})", err=True)


def _score(saved: Saved, reject: float, options: ScoreOptions) -> tuple[int, int]:
    """How many rows were written, and how many of them rejected."""
    rows = rejected = 0
    called = None if saved.names is None else texts(saved.names, saved.scorer.classes)
    blocks = Table(options.logits, size=options.size).blocks(classes=saved.scorer.classes)
    with created(options.output) as write:
        for block in tracked(blocks, "scoring"):
            prediction = saved.scorer.predict(block.logits, reject=reject)
            rows, rejected = rows + len(prediction.label), rejected + int((prediction.label == NONE).sum())
            answers = prediction if called is None else prediction._replace(label=called[prediction.label])
            write({name: np.asarray(column) for name, column in answers._asdict().items()})
    return rows, rejected


def _score_on_engine(saved: Saved, reject: float, options: ScoreOptions) -> tuple[int, int]:
    if options.engine is None or str(options.output) == "-":
        raise click.UsageError("an --engine writes a folder of parquet files: name it with -o")
    table = Parquet.of(options.logits, size=options.size)
    check_folder(options.output, overwrite=options.overwrite, inputs=table.files)
    with opened(options.engine, options.workers) as engine:
        scored = score(
            table,
            options.output,
            saved.scorer,
            reject=reject,
            names=saved.names,
            overwrite=options.overwrite,
            engine=engine,
        )
    return scored.rows, scored.rejected
