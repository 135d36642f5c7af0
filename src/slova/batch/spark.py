"""The engine `spark`: Spark's `mapInArrow`, in the session that is active, or under spark-submit in that one, or else
in a session of its own on this machine, which wants Java 17 or later.

Data that lie in Spark already are scored by `score(frame, scorer)`, and `rows(frame)` gives what `engines.fit` and
`engines.metrics` take. A task whose worker dies is tried again, four times in all.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import shutil
import sys
import tempfile
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from operator import add
from typing import Any, TypeVar

from slova.batch.batches import Of, read_batch, score_batch, score_table, state_of, unpacked
from slova.batch.local import cores
from slova.batch.running import EngineError, Run, named, unwrapped
from slova.io.parquet import pyarrow
from slova.scorer import Scorer

__all__ = ["FrameRows", "rows", "running", "score", "session"]

ATTEMPTS = 4  # plain local[n] makes one
OWN = {
    "spark.app.name": "slova",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.log.level": "OFF",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}

State = TypeVar("State")


def score(frame: Any, scorer: Scorer, *, reject: float = 0.0) -> Any:
    """The data frame, lazily, with label, confidence, none and several in place of its logits. All other columns stay,
    and rows stay in their partition, in their order."""
    small = replace(scorer, validation=None)
    with _about_pandas():
        sample = score_table(frame.limit(0).toArrow(), small)
        schema = frame.sparkSession.createDataFrame(sample).schema
        return frame.mapInArrow(partial(_scored, scorer=small, reject=reject), schema)


def rows(frame: Any) -> FrameRows:
    """A data frame with logits and a column `label`; its first row says how many classes there are."""
    with _about_pandas():
        first = frame.limit(1).toArrow().combine_chunks().to_batches()
    if not first:
        raise EngineError("the data frame has no rows")
    return FrameRows(frame, int(read_batch(first[0], classes=None).logits.shape[1]))


@dataclass(frozen=True)
class FrameRows:
    """Rows that stay in Spark: only states leave it."""

    frame: Any
    classes: int

    def fold(self, of: Of[State], *, labelled: bool = True) -> State:
        function = partial(_states, of=of, classes=self.classes, labelled=labelled)
        with _about_pandas():
            states = self.frame.mapInArrow(function, "outcome binary").collect()
        whole: State = reduce(add, (unpacked(unwrapped(pickle.loads(row.outcome))) for row in states))
        return whole


def _scored(batches: Iterable[Any], *, scorer: Scorer, reject: float) -> Iterator[Any]:
    for batch in batches:
        yield score_batch(batch, scorer, reject=reject)


def _states(batches: Iterable[Any], *, of: Of[Any], classes: int, labelled: bool) -> Iterator[Any]:
    for found in state_of(batches, of, classes=classes, labelled=labelled):
        yield pyarrow().RecordBatch.from_pydict({"outcome": pyarrow().array([pickle.dumps(found)], "binary")})


@contextlib.contextmanager
def running(workers: int | None) -> Iterator[Run]:
    active = named("pyspark.sql", "spark").SparkSession.getActiveSession()
    spark = active or session(workers)
    try:
        yield partial(_run, spark)
    finally:
        if active is None:
            spark.stop()


def session(workers: int | None = None) -> Any:
    """A session on this machine that says nothing and tries a failed task again; under spark-submit, the one that was
    asked for there."""
    builder = named("pyspark.sql", "spark").SparkSession.builder
    if "PYSPARK_GATEWAY_PORT" in os.environ:
        return builder.getOrCreate()
    if not (os.environ.get("JAVA_HOME") or shutil.which("java")):
        raise EngineError("the engine spark wants Java 17 or later: no java is on the path, and JAVA_HOME is not set")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    builder = builder.master(f"local[{workers or cores()},{ATTEMPTS}]")
    with tempfile.TemporaryFile() as log:
        try:
            with _stderr_in(log), _about_pandas():
                return builder.config(map=OWN).getOrCreate()
        except Exception as error:  # of Java, of py4j or of Spark
            log.seek(0)
            said = [line.strip() for line in log.read().decode(errors="replace").splitlines()]
            reason = next((line for line in said if line and not line.startswith("WARNING")), error)
            raise EngineError(f"Spark could not be started: {reason}") from error


@contextlib.contextmanager
def _stderr_in(log: Any) -> Iterator[None]:
    """What the Java process says, which it does not take from a logger, goes to a file for as long as it lives."""
    sys.stderr.flush()
    before = os.dup(2)
    os.dup2(log.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(before, 2)
        os.close(before)


@contextlib.contextmanager
def _about_pandas() -> Iterator[None]:
    """Spark warns of a pandas that it does not know. Nothing here goes through pandas."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
        yield


def _run(spark: Any, task: Callable[[Any], Any], items: Sequence[Any]) -> Generator[Any, None, None]:
    """An item a partition, and so a task of its own; all results come when the last one does."""
    numbers = spark.range(0, len(items), 1, len(items))
    with _about_pandas():
        frame = numbers.mapInArrow(partial(_called, task=task, items=items), "number long, result binary")
        done = sorted(frame.collect())
    yield from (pickle.loads(row.result) for row in done)


def _called(batches: Iterable[Any], *, task: Callable[[Any], Any], items: Sequence[Any]) -> Iterator[Any]:
    for batch in batches:
        done = [pickle.dumps(task(items[number])) for number in batch.column(0).to_pylist()]
        columns = {"number": batch.column(0), "result": pyarrow().array(done, "binary")}
        yield pyarrow().RecordBatch.from_pydict(columns)
