"""The engine `ray`: Ray Data, on the cluster of this process, on the one that RAY_ADDRESS names, or on a new local one.

`score(dataset, scorer)` scores a Ray dataset, and `rows(dataset)` is accepted by `batch.fit` and `batch.metrics`. Ray
repeats the tasks of a worker that died.
"""

from __future__ import annotations

import contextlib
import logging
import os
import pickle
import socket
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from operator import add
from typing import Any, TypeVar

from slova.batch.batches import MapBlock, fold_batches, read_batch, score_table, unpack
from slova.batch.engines import EngineError, Run, require, try_task, unwrap
from slova.batch.local import cores
from slova.batch.map_reduce import FIRST
from slova.io import Block
from slova.io.parquet import pyarrow
from slova.scorer import Scorer

__all__ = ["DatasetRows", "rows", "score", "start"]

STORE = 256 << 20  # bytes of shared memory of a new cluster, which transports only small values

State = TypeVar("State")


def score(dataset: Any, scorer: Scorer, *, reject: float = 0.0) -> Any:
    """The dataset with the columns of a `Prediction` in place of its logits, evaluated lazily. Other columns are kept.
    The order of rows is kept if Ray's option preserve_order is set."""
    small = replace(scorer, validation=None)
    return dataset.map_batches(
        partial(_scored, scorer=small, reject=reject), batch_size=None, batch_format="pyarrow", zero_copy_batch=True
    )


def rows(dataset: Any) -> DatasetRows:
    """The rows of a dataset with logits and a column `label`."""
    first = dataset.take_batch(1, batch_format="pyarrow").combine_chunks().to_batches()[0]
    return DatasetRows(dataset, int(read_batch(first, classes=None).logits.shape[1]))


@dataclass(frozen=True)
class DatasetRows:
    """Rows of a Ray dataset. Only states are collected."""

    dataset: Any
    classes: int

    def fold(self, map_block: MapBlock[State], *, labelled: bool = True) -> State:
        function = partial(_states, map_block=map_block, classes=self.classes, labelled=labelled)
        states = self.dataset.map_batches(function, batch_size=None, batch_format="pyarrow", zero_copy_batch=True)
        found = (unwrap(pickle.loads(row["outcome"])) for row in states.iter_rows())
        whole: State = reduce(add, map(unpack, found))
        return whole

    def first(self, *, labelled: bool = True) -> Block:
        batches = self.dataset.take_batch(FIRST, batch_format="pyarrow").combine_chunks().to_batches()
        task = partial(read_batch, classes=self.classes, labelled=labelled)
        found: Block = unwrap(try_task(task, batches[0]))
        return found


def _scored(table: Any, *, scorer: Scorer, reject: float) -> Any:
    return (
        score_table(table, scorer, reject=reject) if table.num_columns else table
    )  # empty blocks of Ray have no columns


def _states(table: Any, *, map_block: MapBlock[Any], classes: int, labelled: bool) -> Any:
    found = fold_batches(table.to_batches(), map_block, classes=classes, labelled=labelled)
    return pyarrow().table({"outcome": pyarrow().array([pickle.dumps(each) for each in found], "binary")})


@contextlib.contextmanager
def start(workers: int | None) -> Iterator[Run]:
    ray = require("ray", "ray")
    ray_data = require("ray.data", "ray")
    ours = not ray.is_initialized()
    with _quiet(ray_data):
        if ours:
            _init(ray, workers)
        try:
            yield partial(_run, ray_data)
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


@contextlib.contextmanager
def _quiet(ray_data: Any) -> Iterator[None]:
    """Disable progress bars, logs of every step, and deprecation warnings that Ray itself causes."""
    logger = logging.getLogger("ray.data")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", category=DeprecationWarning, module=r"ray\.")
            context = ray_data.DataContext.get_current().copy()
            context.enable_progress_bars = False
            with ray_data.DataContext.current(context):
                yield
    finally:
        logger.setLevel(level)


def _run(ray_data: Any, task: Callable[[Any], Any], items: Sequence[Any]) -> Generator[Any, None, None]:
    """One block, and so one task, per item."""
    dumps = require("ray.cloudpickle", "ray").dumps
    numbered = [{"number": number, "item": dumps(item)} for number, item in enumerate(items)]
    dataset = ray_data.from_items(numbered, override_num_blocks=len(items))
    done = dataset.map_batches(partial(_called, task=task), batch_size=None, batch_format="pyarrow")
    yield from _in_order(done.iter_rows())


def _called(table: Any, *, task: Callable[[Any], Any]) -> Any:
    done = [pickle.dumps(task(pickle.loads(item.as_py()))) for item in table.column("item")]
    return pyarrow().table({"number": table.column("number"), "result": pyarrow().array(done, "binary")})


def _in_order(results: Iterable[dict[str, Any]]) -> Generator[Any, None, None]:
    pending: dict[int, Any] = {}
    following = 0
    for row in results:
        pending[row["number"]] = row["result"]
        while following in pending:
            yield pickle.loads(pending.pop(following))
            following += 1
