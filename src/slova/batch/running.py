"""An engine is a function `run(task, items)`: the result of each item, in their order, from whatever does the work.

A task and its items are small values that can be pickled; items are read, scored and written where they are worked on.
An input that cannot be used is a result like any other, so that no engine tries it again or wraps it in a traceback:
the sentence of the first such item, in their order, is what the caller gets.
"""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import Any

__all__ = ["ENGINES", "EngineError", "Run", "named", "opened", "outcome", "results", "unwrapped"]

ENGINES = ("local", "ray", "spark")

Run = Callable[[Callable[[Any], Any], Sequence[Any]], Generator[Any, None, None]]
Outcome = tuple[str | None, Any]
"""What went wrong, or None, and the result."""


class EngineError(ValueError):
    """A job that could not be started or finished, in one sentence."""


def opened(engine: str, workers: int | None = None) -> AbstractContextManager[Run]:
    """The engine of this name, started if it does not run yet and then stopped at the end; `workers` is how many
    processes, None for one a core."""
    if engine not in ENGINES:
        raise EngineError(f"there is no engine {engine!r}, wanted one of {', '.join(ENGINES)}")
    if workers is not None and workers < 1:
        raise EngineError(f"wanted at least one worker, got {workers}")
    running: AbstractContextManager[Run] = importlib.import_module(f"slova.batch.{engine}").running(workers)
    return running


def named(package: str, engine: str) -> Any:
    """The package of an engine, or a sentence that says how to get it."""
    try:
        return importlib.import_module(package)
    except ImportError as error:
        raise EngineError(f'the engine {engine} is not installed: pip install "slova[{engine}]"') from error


def results(run: Run, task: Callable[[Any], Any], items: Sequence[Any]) -> Iterator[Any]:
    """The results in the order of the items; the first that could not be had ends the work."""
    with contextlib.closing(run(partial(outcome, task), items)) as outcomes:
        yield from map(unwrapped, outcomes)


def outcome(task: Callable[[Any], Any], item: Any) -> Outcome:
    try:
        return None, task(item)
    except ValueError as error:
        return str(error), None
    except OSError as error:
        return f"{error.filename or 'a file'}: {error.strerror or error}", None


def unwrapped(found: Outcome) -> Any:
    problem, result = found
    if problem is not None:
        raise EngineError(problem)
    return result
