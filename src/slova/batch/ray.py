"""The engine `ray`: tasks of Ray, on the cluster of this process, on the one that RAY_ADDRESS names, or on a new local
one. Ray repeats the tasks of a worker that died.

`score(dataset, scorer)` scores a Ray dataset, and `rows(dataset)` is accepted by `batch.fit` and `batch.metrics`.
"""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from slova.batch.batches import score_table
from slova.batch.engines import ATTEMPTS, EngineError, Run, require
from slova.batch.local import cores
from slova.batch.map_reduce import EngineRows
from slova.io.parquet import pyarrow
from slova.scorer import Scorer

__all__ = ["rows", "score", "start"]

STORE = 256 << 20  # bytes of shared memory of a new cluster, which transports only small values
BLOCKS = {"batch_size": None, "batch_format": "pyarrow", "zero_copy_batch": True}


def score(dataset: Any, scorer: Scorer, *, reject: float = 0.0) -> Any:
    """The dataset with the columns of a `Prediction` in place of its logits, evaluated lazily. Other columns are kept.
    The order of rows is kept if Ray's option preserve_order is set."""
    return dataset.map_batches(partial(_scored, scorer=replace(scorer, validation=None), reject=reject), **BLOCKS)


def _scored(table: Any, *, scorer: Scorer, reject: float) -> Any:
    return score_table(table, scorer, reject=reject) if table.num_columns else table  # an empty block has no columns


def rows(dataset: Any) -> EngineRows:
    """The rows of a dataset with logits and a column `label`."""
    return EngineRows.of(partial(_mapped, dataset), partial(dataset.take_batch, batch_format="pyarrow"))


def _mapped(dataset: Any, function: Callable[..., Any]) -> Iterator[bytes]:
    return (row["outcome"] for row in dataset.map_batches(partial(_outcomes, function), **BLOCKS).iter_rows())


def _outcomes(function: Callable[..., Any], table: Any) -> Any:
    return pyarrow().Table.from_batches(function(table.to_batches()), pyarrow().schema({"outcome": "binary"}))


@contextlib.contextmanager
def start(workers: int | None) -> Iterator[Run]:
    ray = require("ray", "ray")
    ours = not ray.is_initialized()
    if ours:
        _init(ray, workers)
    try:
        yield partial(_run, ray)
    finally:
        if ours:
            ray.shutdown()


def _init(ray: Any, workers: int | None) -> None:
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    local = {"num_cpus": workers or cores(), "include_dashboard": False, "object_store_memory": STORE}
    _check_address(os.environ.get("RAY_ADDRESS", ""))
    try:
        ray.init(log_to_driver=False, logging_level="error", **({} if "RAY_ADDRESS" in os.environ else local))
    except Exception as error:  # of Ray, of the operating system, or of its settings
        raise EngineError(f"Ray could not be started: {(str(error) or repr(error)).splitlines()[0]}") from error


def _check_address(address: str) -> None:
    """Ray itself would try for minutes to reach a cluster that is not there."""
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if not colon or not port.isdigit():
        return
    try:
        socket.create_connection((host, int(port)), timeout=10).close()
    except (OSError, OverflowError) as error:
        raise EngineError(f"Ray could not be started: there is no cluster at RAY_ADDRESS {address}: {error}") from error


def _run(ray: Any, task: Callable[[Any], Any], items: Sequence[Any]) -> Generator[Any, None, None]:
    shared, call = ray.put(task), ray.remote(_call).options(max_retries=ATTEMPTS - 1)
    left = [call.remote(shared, item) for item in items]
    try:
        while left:
            yield ray.get(left[0])
            left.pop(0)
    except ray.exceptions.WorkerCrashedError as error:
        raise EngineError(f"a worker of Ray died {ATTEMPTS} times: it may need more memory") from error
    finally:  # none of them writes after this
        for each in left:
            ray.cancel(each)
        ray.wait(left, num_returns=len(left)) if left else None


def _call(task: Callable[[Any], Any], item: Any) -> Any:
    return task(item)
