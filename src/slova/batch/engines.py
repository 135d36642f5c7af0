"""The registry of engines, and how tasks run on them.

An engine is a function `run(task, items)` that yields the result of each item in order. Tasks and items are small
picklable values; data is read, scored and written by the worker that runs the task. Invalid input is an outcome
and not an exception, so that engines neither retry it nor wrap it in a traceback: the caller gets the message of the
first such item.

To add an engine, write a module with a context manager `start(workers)` that yields `run`, and register it here.
"""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import Any

__all__ = ["ATTEMPTS", "ENGINES", "EngineError", "Run", "open_engine", "require", "results", "try_task", "unwrap"]

ATTEMPTS = 4  # of a task whose worker dies
Run = Callable[[Callable[[Any], Any], Sequence[Any]], Generator[Any, None, None]]
Outcome = tuple[str | None, Any]
"""The error message or None, and the result."""


class EngineError(ValueError):
    """A job could not be started or completed. The message is one sentence."""


def _start(module: str, workers: int | None) -> AbstractContextManager[Run]:
    started: AbstractContextManager[Run] = importlib.import_module(module).start(workers)
    return started


ENGINES: dict[str, Callable[[int | None], AbstractContextManager[Run]]] = {
    name: partial(_start, f"slova.batch.{name}") for name in ("local", "ray", "spark")
}
"""Every engine by name. The module of an engine is imported when it is opened."""


def open_engine(engine: str, workers: int | None = None) -> AbstractContextManager[Run]:
    """The engine of this name, started unless it is running already, and stopped at the end if it was started.
    `workers` is the number of processes, None for one per core."""
    if engine not in ENGINES:
        raise EngineError(f"engine must be one of {', '.join(ENGINES)}, got {engine!r}")
    if workers is not None and workers < 1:
        raise EngineError(f"workers must be at least 1, got {workers}")
    return ENGINES[engine](workers)


def require(package: str, engine: str) -> Any:
    """The package of an engine, or an error that explains how to install it."""
    try:
        return importlib.import_module(package)
    except ImportError as error:
        raise EngineError(f'the engine {engine} is not installed: pip install "slova[{engine}]"') from error


def results(run: Run, task: Callable[[Any], Any], items: Sequence[Any]) -> Iterator[Any]:
    """The results in the order of the items. The first error ends the job."""
    with contextlib.closing(run(partial(try_task, task), items)) as outcomes:
        yield from map(unwrap, outcomes)


def try_task(task: Callable[[Any], Any], item: Any) -> Outcome:
    try:
        return None, task(item)
    except ValueError as error:
        return str(error), None
    except OSError as error:
        return f"{error.filename or 'a file'}: {error.strerror or error}", None


def unwrap(outcome: Outcome) -> Any:
    problem, result = outcome
    if problem is not None:
        raise EngineError(problem)
    return result
