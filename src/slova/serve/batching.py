"""Dynamic batching: queued requests are run together, in one thread.

The next batch accumulates while the model runs, so an additional delay pays off only if a run takes much longer than
the delay. A request without others beside it runs at once, in the event loop, if the last run of such rows was short:
passing it to a thread would take about as long. Only rows of the same shape are batched. Requests of disconnected
clients are dropped. A failed batch is repeated one request at a time, so that only the request at fault fails.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from starlette.requests import ClientDisconnect

from slova.serve.limits import Batching, unavailable
from slova.serve.model import Arrays, Values

__all__ = ["Batcher", "Job", "Queue", "Run", "outcomes"]

Run = Callable[[Arrays, Sequence[str]], Mapping[str, Values]]
SHORT = 0.002  # seconds of a run that may delay others
DISCONNECT_CHECK_SECONDS = 0.05  # time in the queue after which the connection of the client is checked


@dataclass(eq=False)
class Job:
    """A request in the queue: its inputs, the names of the required outputs, and a check for disconnection."""

    inputs: Arrays
    wanted: tuple[str, ...]
    disconnected: Callable[[], Awaitable[bool]]
    since: float = field(default_factory=lambda: asyncio.get_running_loop().time())
    answer: asyncio.Future[Arrays] = field(default_factory=lambda: asyncio.get_running_loop().create_future())

    def __post_init__(self) -> None:
        self.rows = len(next(iter(self.inputs.values())))
        self.kind = tuple((name, values.shape[1:]) for name, values in self.inputs.items())

    def resolve(self, outcome: Arrays | Exception) -> None:
        if self.answer.done():
            return
        if isinstance(outcome, Exception):
            self.answer.set_exception(outcome)
        else:
            self.answer.set_result(outcome)

    async def cancelled(self) -> bool:
        """Whether the client has disconnected; checked only after some time in the queue."""
        waited = asyncio.get_running_loop().time() - self.since
        if not self.answer.done() and waited > DISCONNECT_CHECK_SECONDS and await self.disconnected():
            self.resolve(ClientDisconnect())
        return self.answer.done()


class Queue(Protocol):
    """What runs the model on batches of requests, in this process."""

    def __init__(self, run: Run, batching: Batching, observe: Callable[[int], None]) -> None: ...
    def working(self) -> AbstractAsyncContextManager[None]: ...
    async def outputs(self, job: Job) -> Arrays: ...


class Batcher:
    """The queue. `observe(rows)` is called for every batch."""

    def __init__(self, run: Run, batching: Batching, observe: Callable[[int], None]) -> None:
        self.run, self.batching, self.observe = run, batching, observe
        self._waiting: deque[Job] = deque()
        self._present: set[Job] = set()  # that wait or run
        self._arrived = asyncio.Event()
        self._busy = False  # whether the thread runs the model, perhaps for clients that have disconnected
        self._short: tuple[Any, int] = (None, 0)  # the kind of the last run, and how many rows of it were short

    @asynccontextmanager
    async def working(self) -> AsyncIterator[None]:
        """Run the worker thread. Requests left at the end are answered with an error."""
        pool = ThreadPoolExecutor(1, "slova-model")
        worker = asyncio.create_task(self._work(pool))
        try:
            yield
        finally:
            worker.cancel()
            with suppress(asyncio.CancelledError):
                await worker
            pool.shutdown(wait=False)
            for job in self._present:
                job.resolve(unavailable("the server is shutting down"))

    async def outputs(self, job: Job) -> Arrays:
        self._present.add(job)
        try:
            if self._is_short(job):
                await asyncio.sleep(0)  # requests that arrived together are counted before the first one runs
            if self._is_short(job):
                job.resolve(self._outcomes([job])[0])
            else:
                self._waiting.append(job)
                self._arrived.set()
            return await job.answer
        finally:
            self._present.remove(job)

    def _is_short(self, job: Job) -> bool:
        kind, rows = self._short
        alone = len(self._present) == 1 and not self._busy and not self.batching.seconds
        return alone and job.rows <= rows and job.kind == kind

    def _outcomes(self, batch: Sequence[Job]) -> list[Any]:
        """Run the model, and remember whether that was short."""
        start, kind, rows = time.perf_counter(), batch[0].kind, sum(job.rows for job in batch)
        self.observe(rows)
        found = outcomes(self.run, batch)
        known = self._short[1] if self._short[0] == kind else 0
        self._short = (kind, max(rows, known)) if time.perf_counter() - start < SHORT else (None, 0)
        return found

    async def _work(self, pool: ThreadPoolExecutor) -> None:
        while True:
            await self._gather()
            if batch := await self._take():
                self._busy = True
                found = await asyncio.get_running_loop().run_in_executor(pool, self._outcomes, batch)
                self._busy = False
                for job, outcome in zip(batch, found, strict=True):
                    job.resolve(outcome)

    async def _gather(self) -> None:
        """Wait until a batch is full, or the oldest request has waited long enough."""
        while not self._waiting:
            self._arrived.clear()
            await self._arrived.wait()
        if self.batching.seconds:
            with suppress(TimeoutError):
                async with asyncio.timeout_at(self._waiting[0].since + self.batching.seconds):
                    while sum(job.rows for job in self._waiting) < self.batching.rows:
                        self._arrived.clear()
                        await self._arrived.wait()

    async def _take(self) -> list[Job]:
        """Requests of the same kind as the oldest one, in order. An oversized oldest request runs alone. The others go
        back to the front of the queue, so that no request starves."""
        batch: list[Job] = []
        others: list[Job] = []
        room = self.batching.rows
        while self._waiting and room > 0:
            job = self._waiting.popleft()
            if await job.cancelled():
                continue
            if batch and (job.kind != batch[0].kind or job.rows > room):
                others.append(job)
            else:
                batch.append(job)
                room -= job.rows
        self._waiting.extendleft(reversed(others))
        return batch


def outcomes(run: Run, batch: Sequence[Job]) -> list[Any]:
    """The outputs or the exception of each job. Warnings about extreme inputs would fill the log of the server."""
    try:
        with np.errstate(all="ignore"):
            return _separated(run, batch)
    except Exception as error:
        return [error] if len(batch) == 1 else [outcomes(run, [job])[0] for job in batch]


def _separated(run: Run, batch: Sequence[Job]) -> list[Arrays]:
    wanted = tuple(dict.fromkeys(name for job in batch for name in job.wanted))
    parts = {name: [job.inputs[name] for job in batch] for name in batch[0].inputs}
    outputs = run({name: each[0] if len(each) == 1 else np.concatenate(each) for name, each in parts.items()}, wanted)
    ends = np.cumsum([job.rows for job in batch]).tolist()
    wrong = [f"{name} {values.shape}" for name, values in outputs.items() if len(values) != ends[-1]]
    if wrong:
        raise ValueError(f"the model returned {', '.join(wrong)} for {ends[-1]} rows")
    return [
        {name: outputs[name][end - job.rows : end] for name in job.wanted} for job, end in zip(batch, ends, strict=True)
    ]
