"""Score, fit and evaluate parquet files of any size, one partition at a time, on an engine.

    source   a parquet file, a folder of them, or several of either, readable by all workers
    output   a folder writable by all workers
    engine   a name in `ENGINES`, or an engine that `open_engine` returned

The results are bit for bit those of one process. A part holds the rows of a partition in order, so the parts sorted by
name hold all rows in the order of the source.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from slova._backend import Array
from slova._scorer_file import file_labels
from slova.batch.batches import score_batch
from slova.batch.commit import check_folder, commit_folder, write_part
from slova.batch.engines import EngineError, Run, open_engine, results
from slova.batch.fitting import Plan, fit_scorer
from slova.batch.map_reduce import PartitionedRows, Rows, check_scorer
from slova.batch.metric_states import Values, compute_metrics
from slova.batch.partitions import ParquetFiles, Partition, Source
from slova.heads import NONE
from slova.io.parquet import pyarrow
from slova.scorer import Scorer

__all__ = ["Scored", "fit", "metrics", "rows_of", "score"]


class Scored(NamedTuple):
    """The number of rows written, of rejected ones among them, and of parts."""

    rows: int
    rejected: int
    parts: int


def score(
    source: Source | ParquetFiles,
    output: str | Path,
    scorer: Scorer,
    *,
    reject: float = 0.0,
    names: Sequence[str] | None = None,
    overwrite: bool = False,
    engine: str | Run = "local",
) -> Scored:
    """Write a folder of parquet parts with the columns of a `Prediction` in place of the logits; other columns are
    kept. With class `names`, labels are names, and "-1" for NONE. The folder is written atomically; an existing one is
    replaced only with `overwrite`."""
    label_names = None if names is None else file_labels(names, scorer.classes)
    output, table = Path(output), source if isinstance(source, ParquetFiles) else ParquetFiles.of(source)
    check_folder(output, overwrite=overwrite, inputs=table.files)
    items = list(enumerate(table.partitions))
    with commit_folder(output, len(items), overwrite=overwrite) as staging, _open(engine) as run:
        check_scorer(rows_of(table, run), scorer)
        task = _Task(replace(scorer, validation=None), reject, label_names, staging.absolute())
        counts = list(results(run, task, items))
        rows, rejected = sum(count[0] for count in counts), sum(count[1] for count in counts)
        if rows != table.rows:
            raise EngineError(f"{rows} rows were scored instead of {table.rows}")
    return Scored(rows, rejected, len(items))


def fit(source: Source | ParquetFiles | Rows, plan: Plan | None = None, *, engine: str | Run = "local") -> Scorer:
    """Fit a scorer to validation rows with a column `label`. Workers fill histograms, and one process merges them."""
    with _open(engine) as run:
        return fit_scorer(rows_of(source, run), plan or Plan())


def metrics(
    source: Source | ParquetFiles | Rows,
    scorer: Scorer,
    *,
    ood: Source | ParquetFiles | Rows | None = None,
    engine: str | Run = "local",
) -> Values:
    """All metrics of rows with a column `label`. Workers fill states, and one process merges them. `ood` are OOD rows.
    A metric that its state determines only within a bound is an `Estimate`."""
    with _open(engine) as run:
        others = () if ood is None else (rows_of(ood, run),)
        return compute_metrics(rows_of(source, run), scorer, *others)


def rows_of(source: Source | ParquetFiles | Rows, run: Run) -> Rows:
    """Files as rows on an engine; rows that are on an engine already are returned as they are."""
    if isinstance(source, str | Path | list | tuple):
        source = ParquetFiles.of(source)
    return PartitionedRows(source.partitions, source.classes, run) if isinstance(source, ParquetFiles) else source


def _open(engine: str | Run) -> AbstractContextManager[Run]:
    return open_engine(engine) if isinstance(engine, str) else contextlib.nullcontext(engine)


@dataclass(frozen=True)
class _Task:
    """The task of a worker: read a partition, score it, write its part. The scorer has no validation set here."""

    scorer: Scorer
    reject: float
    label_names: Array | None
    staging: Path

    def __call__(self, item: tuple[int, Partition]) -> tuple[int, int]:
        number, partition = item
        counts = [0, 0]
        write_part(self.staging, number, self._scored(partition, counts))
        return counts[0], counts[1]

    def _scored(self, partition: Partition, counts: list[int]) -> Iterator[Any]:
        for location, batch in partition.batches():
            scored = score_batch(batch, self.scorer, reject=self.reject, location=location)
            label = scored.column("label").to_numpy()
            counts[0], counts[1] = counts[0] + len(label), counts[1] + int((label == NONE).sum())
            yield scored if self.label_names is None else _with_labels(scored, self.label_names[label])


def _with_labels(batch: Any, labels: Array) -> Any:
    """The batch with its labels replaced."""
    return batch.set_column(batch.schema.get_field_index("label"), "label", pyarrow().array(labels))
