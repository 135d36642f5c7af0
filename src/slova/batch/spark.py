"""The engine `spark`: tasks in the active Spark session, in that of spark-submit or PYSPARK_SUBMIT_ARGS, or in a new
local one, which needs Java 17 or later. A task whose worker died is repeated, up to four times in all.

`score(frame, scorer)` scores a Spark data frame, and `rows(frame)` is accepted by `batch.fit` and `batch.metrics`.
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
from dataclasses import replace
from functools import partial
from typing import Any

from slova.batch.batches import score_batch, score_table
from slova.batch.engines import ATTEMPTS, EngineError, Run, require
from slova.batch.local import cores
from slova.batch.map_reduce import EngineRows
from slova.io.parquet import pyarrow
from slova.scorer import Scorer

__all__ = ["rows", "score", "session", "start"]

QUIET = {
    "spark.app.name": "slova",
    "spark.log.level": "OFF",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}
LOCAL = {"spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1"}


def score(frame: Any, scorer: Scorer, *, reject: float = 0.0) -> Any:
    """The data frame with the columns of a `Prediction` in place of its logits, evaluated lazily. Other columns,
    partitions and the order of rows are kept."""
    small = replace(scorer, validation=None)
    with _no_pandas_warning():
        sample = score_table(frame.limit(0).toArrow(), small)
        schema = frame.sparkSession.createDataFrame(sample).schema
        return frame.mapInArrow(partial(_scored, scorer=small, reject=reject), schema)


def _scored(batches: Iterable[Any], *, scorer: Scorer, reject: float) -> Iterator[Any]:
    return (score_batch(batch, scorer, reject=reject) for batch in batches)


def rows(frame: Any) -> EngineRows:
    """The rows of a data frame with logits and a column `label`."""
    return EngineRows.of(partial(_mapped, frame), partial(_first, frame))


def _mapped(frame: Any, function: Callable[..., Any]) -> list[bytes]:
    with _no_pandas_warning():
        return [row.outcome for row in frame.mapInArrow(function, "outcome binary").collect()]


def _first(frame: Any, count: int) -> Any:
    with _no_pandas_warning():
        return frame.limit(count).toArrow()


@contextlib.contextmanager
def start(workers: int | None) -> Iterator[Run]:
    active = require("pyspark.sql", "spark").SparkSession.getActiveSession()
    spark = active or session(workers)
    try:
        yield partial(_run, spark)
    finally:
        if active is None:
            spark.stop()


def _run(spark: Any, task: Callable[[Any], Any], items: Sequence[Any]) -> Generator[Any, None, None]:
    """One partition, and so one task, per item. Results are collected at once. `mapInArrow` exists in Spark Connect as
    well, RDDs do not."""
    numbers = spark.range(0, len(items), 1, len(items))
    with _no_pandas_warning():
        done = numbers.mapInArrow(partial(_called, task=task, items=items), "number long, result binary").collect()
    yield from (pickle.loads(row.result) for row in sorted(done))


def _called(batches: Iterable[Any], *, task: Callable[[Any], Any], items: Sequence[Any]) -> Iterator[Any]:
    for batch in batches:
        done = [pickle.dumps(task(items[number])) for number in batch.column(0).to_pylist()]
        columns = {"number": batch.column(0), "result": pyarrow().array(done, "binary")}
        yield pyarrow().RecordBatch.from_pydict(columns)


def session(workers: int | None = None) -> Any:
    """A quiet local session that repeats failed tasks; the session that spark-submit or PYSPARK_SUBMIT_ARGS configure,
    where there is one."""
    builder = require("pyspark.sql", "spark").SparkSession.builder
    if "PYSPARK_GATEWAY_PORT" in os.environ:
        return builder.getOrCreate()
    if not (os.environ.get("JAVA_HOME") or shutil.which("java")):
        raise EngineError("the engine spark needs Java 17 or later: java is not on the path, and JAVA_HOME is not set")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = builder.config(map=QUIET)
    if "PYSPARK_SUBMIT_ARGS" not in os.environ:
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        builder = builder.master(f"local[{workers or cores()},{ATTEMPTS}]").config(map=LOCAL)
    with tempfile.TemporaryFile() as log:
        try:
            with _stderr_to(log), _no_pandas_warning():
                return builder.getOrCreate()
        except Exception as error:  # from Java, py4j or Spark
            log.seek(0)
            lines = [line.strip() for line in log.read().decode(errors="replace").splitlines()]
            reason = next((line for line in lines if line and not line.startswith("WARNING")), error)
            raise EngineError(f"Spark could not be started: {reason}") from error


@contextlib.contextmanager
def _stderr_to(log: Any) -> Iterator[None]:
    """Redirect the standard error of the Java process, which does not use a logger, to a file."""
    sys.stderr.flush()
    before = os.dup(2)
    os.dup2(log.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(before, 2)
        os.close(before)


@contextlib.contextmanager
def _no_pandas_warning() -> Iterator[None]:
    """Spark warns about new versions of pandas, which is not used here."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
        yield
