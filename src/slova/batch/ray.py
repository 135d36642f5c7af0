"""The engine `ray`: Ray Data, on the cluster that this process is connected to, or that RAY_ADDRESS names, or on one
of its own.

Data that lie in Ray already are scored by `score(dataset, scorer)`, and `rows(dataset)` gives what `engines.fit` and
`engines.metrics` take. A worker that dies is replaced, and what it was at is done again.
"""

from __future__ import annotations

import contextlib
import logging
import os
import pickle
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from operator import add
from typing import Any, TypeVar

from slova.batch.batches import Of, read_batch, score_table, state_of, unpacked
from slova.batch.local import cores
from slova.batch.running import EngineError, Run, named, unwrapped
from slova.io.parquet import pyarrow
from slova.scorer import Scorer

__all__ = ["DatasetRows", "rows", "running", "score"]

STORE = 256 << 20  # bytes of shared memory for a cluster of our own, through which only small values go

State = TypeVar("State")


def score(dataset: Any, scorer: Scorer, *, reject: float = 0.0) -> Any:
    """The dataset, lazily, with label, confidence, none and several in place of its logits. All other columns stay; the
    order of rows is as Ray keeps it, and with preserve_order that of the dataset."""
    small = replace(scorer, validation=None)
    return dataset.map_batches(
        partial(_scored, scorer=small, reject=reject), batch_size=None, batch_format="pyarrow", zero_copy_batch=True
    )


def rows(dataset: Any) -> DatasetRows:
    """A dataset with logits and a column `label`; its first row says how many classes there are."""
    first = dataset.take_batch(1, batch_format="pyarrow").combine_chunks().to_batches()[0]
    return DatasetRows(dataset, int(read_batch(first, classes=None).logits.shape[1]))


@dataclass(frozen=True)
class DatasetRows:
    """Rows that stay in Ray: only states leave it."""

    dataset: Any
    classes: int

    def fold(self, of: Of[State], *, labelled: bool = True) -> State:
        function = partial(_states, of=of, classes=self.classes, labelled=labelled)
        states = self.dataset.map_batches(function, batch_size=None, batch_format="pyarrow", zero_copy_batch=True)
        found = (unwrapped(pickle.loads(row["outcome"])) for row in states.iter_rows())
        whole: State = reduce(add, map(unpacked, found))
        return whole


def _scored(table: Any, *, scorer: Scorer, reject: float) -> Any:
    return score_table(table, scorer, reject=reject) if table.num_columns else table  # Ray's empty blocks have none


def _states(table: Any, *, of: Of[Any], classes: int, labelled: bool) -> Any:
    found = state_of(table.to_batches(), of, classes=classes, labelled=labelled)
    return pyarrow().table({"outcome": pyarrow().array([pickle.dumps(each) for each in found], "binary")})


@contextlib.contextmanager
def running(workers: int | None) -> Iterator[Run]:
    ray = named("ray", "ray")
    ray_data = named("ray.data", "ray")
    ours = not ray.is_initialized()
    with _quietly(ray_data):
        if ours:
            _start(ray, workers)
        try:
            yield partial(_run, ray_data)
        finally:
            if ours:
                ray.shutdown()


def _start(ray: Any, workers: int | None) -> None:
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    own = {"num_cpus": workers or cores(), "include_dashboard": False, "object_store_memory": STORE}
    try:
        ray.init(log_to_driver=False, logging_level="error", **({} if "RAY_ADDRESS" in os.environ else own))
    except (ConnectionError, RuntimeError) as error:
        raise EngineError(f"Ray could not be started: {str(error).splitlines()[0]}") from error


@contextlib.contextmanager
def _quietly(ray_data: Any) -> Iterator[None]:
    """Without progress bars, a log of every step, and Ray's warnings of what Ray itself uses; all is as before in the
    end."""
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
    """An item a block, and so a task of its own."""
    dumps = named("ray.cloudpickle", "ray").dumps
    numbered = [{"number": number, "item": dumps(item)} for number, item in enumerate(items)]
    dataset = ray_data.from_items(numbered, override_num_blocks=len(items))
    done = dataset.map_batches(partial(_called, task=task), batch_size=None, batch_format="pyarrow")
    yield from _in_order(done.iter_rows())


def _called(table: Any, *, task: Callable[[Any], Any]) -> Any:
    done = [pickle.dumps(task(pickle.loads(item.as_py()))) for item in table.column("item")]
    return pyarrow().table({"number": table.column("number"), "result": pyarrow().array(done, "binary")})


def _in_order(results: Iterable[dict[str, Any]]) -> Generator[Any, None, None]:
    waiting: dict[int, Any] = {}
    following = 0
    for row in results:
        waiting[row["number"]] = row["result"]
        while following in waiting:
            yield pickle.loads(waiting.pop(following))
            following += 1
