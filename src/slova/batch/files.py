"""Parquet in, parquet out: score, fit and measure any number of rows, in pieces, on an engine.

    source   a parquet file, a folder of them, or several of either, which all workers can read
    output   a folder that all workers can write to
    engine   `local` (processes on this machine), `ray`, `spark`, or one that `opened` gave

The answers are those of one process, bit for bit, and a part holds the rows of a piece in their order; so the parts in
the order of their names hold all rows in the order of the source.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from slova._backend import Array
from slova.batch.batches import score_batch
from slova.batch.commit import check_folder, committed, write_part
from slova.batch.fitting import Plan, fitted
from slova.batch.measures import Values, measured
from slova.batch.pieces import Parquet, Piece, Source
from slova.batch.rows import Pieces, Rows, check_classes
from slova.batch.running import EngineError, Run, opened, results
from slova.heads import NONE
from slova.io.parquet import pyarrow
from slova.saved import texts
from slova.scorer import Scorer

__all__ = ["Scored", "fit", "metrics", "rows_of", "score"]


class Scored(NamedTuple):
    """How many rows were written, how many of them rejected, and in how many parts."""

    rows: int
    rejected: int
    parts: int


def score(
    source: Source | Parquet,
    output: str | Path,
    scorer: Scorer,
    *,
    reject: float = 0.0,
    names: Sequence[str] | None = None,
    overwrite: bool = False,
    engine: str | Run = "local",
) -> Scored:
    """Write a folder of parquet parts with label, confidence, none and several in place of the logits, beside all other
    columns; with class names given the labels are names, and "-1" for NONE. It appears whole or not at all; one that is
    there is replaced only with `overwrite`."""
    called = None if names is None else texts(names, scorer.classes)
    output, table = Path(output), source if isinstance(source, Parquet) else Parquet.of(source)
    check_folder(output, overwrite=overwrite, inputs=table.files)
    items = list(enumerate(table.pieces))
    with committed(output, len(items), overwrite=overwrite) as staging, _running(engine) as run:
        check_classes(Pieces(table.pieces, table.classes, run), scorer)
        task = _Task(replace(scorer, validation=None), reject, called, staging.absolute())
        counts = list(results(run, task, items))
        rows, rejected = sum(count[0] for count in counts), sum(count[1] for count in counts)
        if rows != table.rows:
            raise EngineError(f"{rows} rows were scored, and there are {table.rows}")
    return Scored(rows, rejected, len(items))


def fit(source: Source | Parquet | Rows, plan: Plan | None = None, *, engine: str | Run = "local") -> Scorer:
    """The scorer of validation rows with a column `label`, by sketches that workers fill and one process adds up."""
    with rows_of(source, engine) as rows:
        return fitted(rows, plan or Plan())


def metrics(
    source: Source | Parquet | Rows,
    scorer: Scorer,
    *,
    ood: Source | Parquet | Rows | None = None,
    engine: str | Run = "local",
) -> Values:
    """All metrics of rows with a column `label`, by states that workers fill and one process adds up; `ood` are rows of
    no class. Those that a state knows only within a bound are an Estimate."""
    with _running(engine) as run, rows_of(source, run) as rows:
        if ood is None:
            return measured(rows, scorer)
        with rows_of(ood, run) as others:
            return measured(rows, scorer, others)


@contextlib.contextmanager
def rows_of(source: Source | Parquet | Rows, engine: str | Run) -> Iterator[Rows]:
    """Files as rows, on an engine; rows that lie in one already are left where they are."""
    if isinstance(source, str | Path | list | tuple):
        source = Parquet.of(source)
    if not isinstance(source, Parquet):
        yield source
        return
    with _running(engine) as run:
        yield Pieces(source.pieces, source.classes, run)


def _running(engine: str | Run) -> AbstractContextManager[Run]:
    return opened(engine) if isinstance(engine, str) else contextlib.nullcontext(engine)


@dataclass(frozen=True)
class _Task:
    """What a worker does: read a piece, score it, write its part. The scorer travels without its validation set."""

    scorer: Scorer
    reject: float
    called: Array | None
    staging: Path

    def __call__(self, item: tuple[int, Piece]) -> tuple[int, int]:
        number, piece = item
        counts = [0, 0]
        write_part(self.staging, number, self._scored(piece, counts))
        return counts[0], counts[1]

    def _scored(self, piece: Piece, counts: list[int]) -> Iterator[Any]:
        for place, batch in piece.batches(self.scorer.classes):
            scored = score_batch(batch, self.scorer, reject=self.reject, place=place)
            label = scored.column("label").to_numpy()
            counts[0], counts[1] = counts[0] + len(label), counts[1] + int((label == NONE).sum())
            yield scored if self.called is None else _named(scored, self.called[label])


def _named(batch: Any, labels: Array) -> Any:
    """The batch with these labels."""
    return batch.set_column(batch.schema.get_field_index("label"), "label", pyarrow().array(labels))
