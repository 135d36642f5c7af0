"""The engine `local`: a pool of processes on this machine, or this process if there is one worker.

Processes are spawned and not forked, so a script that uses them needs `if __name__ == "__main__":`. Tasks of a worker
that died are repeated.
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

from slova.batch.engines import ATTEMPTS, EngineError, Run

__all__ = ["cores", "start"]


@contextlib.contextmanager
def start(workers: int | None) -> Iterator[Run]:
    workers = workers or cores()
    if workers == 1:
        yield _in_this_process
        return
    processes = _Processes(workers)
    try:
        yield processes
    finally:
        processes.stop()


def cores() -> int:
    """The number of cores available to this process."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _in_this_process(task: Callable[[Any], Any], items: Sequence[Any]) -> Generator[Any, None, None]:
    yield from map(task, items)


class _Processes:
    """A process pool that is started on first use and replaced when it breaks."""

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
            f"a worker process died {ATTEMPTS} times: it may need more memory, or the script may lack "
            'if __name__ == "__main__":'
        )

    def stop(self) -> None:
        if self.pool is not None:
            self.pool.shutdown(cancel_futures=True)
        self.pool = None

    def _results(self, task: Callable[[Any], Any], items: Sequence[Any]) -> Iterator[Any]:
        with _no_interrupts():  # the processes started here inherit the mask: this process ends them
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
    """Interrupts are delivered afterwards; processes started meanwhile never receive any."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    resource_tracker.ensure_running()  # it unblocks interrupts when it starts
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _end_with_parent() -> None:
    """Otherwise a worker whose parent was killed would wait forever."""

    def watch() -> None:
        parent = multiprocessing.parent_process()
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
