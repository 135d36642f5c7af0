"""The engine `local`: a pool of processes on this machine, or with one worker this very process.

Processes are started afresh and not forked, so a script that uses them wants `if __name__ == "__main__":`. When one of
them dies, what it was at is done again.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import resource_tracker
from typing import Any

from slova.batch.running import EngineError, Run

__all__ = ["cores", "running"]

ATTEMPTS = 4  # as many as Spark makes


@contextlib.contextmanager
def running(workers: int | None) -> Iterator[Run]:
    workers = workers or cores()
    if workers == 1:
        yield _one_by_one
        return
    processes = _Processes(workers)
    try:
        yield processes
    finally:
        processes.stop()


def cores() -> int:
    """How many this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _one_by_one(task: Callable[[Any], Any], items: Sequence[Any]) -> Generator[Any, None, None]:
    yield from map(task, items)


class _Processes:
    """A pool that is started when there is work, kept for more, and replaced when it is broken."""

    def __init__(self, workers: int) -> None:
        self.workers = workers
        self.pool: ProcessPoolExecutor | None = None

    def __call__(self, task: Callable[[Any], Any], items: Sequence[Any]) -> Generator[Any, None, None]:
        done = 0
        for _ in range(ATTEMPTS):
            try:
                for result in self._results(task, items[done:]):
                    done += 1
                    yield result
                return
            except BrokenProcessPool:
                self.stop()
        raise EngineError(
            f"a worker process died {ATTEMPTS} times: it may want more memory, or the script that starts it an "
            'if __name__ == "__main__":'
        )

    def stop(self) -> None:
        if self.pool is not None:
            self.pool.shutdown(cancel_futures=True)
        self.pool = None

    def _results(self, task: Callable[[Any], Any], items: Sequence[Any]) -> Iterator[Any]:
        with _no_interrupts():  # nor for the processes that start here: it is this one that ends them
            context = multiprocessing.get_context("spawn")
            self.pool = self.pool or ProcessPoolExecutor(self.workers, context, _end_with_parent)
            futures = [self.pool.submit(task, item) for item in items]
        try:
            for future in futures:
                yield future.result()
        finally:
            for future in futures:
                future.cancel()
            wait(futures)


@contextlib.contextmanager
def _no_interrupts() -> Iterator[None]:
    """They come when it is over; a process that is started meanwhile never gets any."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    resource_tracker.ensure_running()  # which lets interrupts through when it starts
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _end_with_parent() -> None:
    """A worker whose parent was killed would wait for work for ever."""

    def watch() -> None:
        parent = multiprocessing.parent_process()
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
