"""Dynamic batching: queued requests are run together, in one thread.

The next batch accumulates while the model runs, so an additional delay pays off only if a run takes much longer than
the delay. Only rows of the same shape are batched. Requests of disconnected clients are dropped. A failed batch is
repeated one request at a time, so that only the request at fault fails.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from starlette.requests import ClientDisconnect

from slova.serve.limits import Batching, unavailable
from slova.serve.model import Arrays

__all__ = ["Batcher", "Job"]

Values = np.ndarray[Any, Any]
Run = Callable[[Arrays, Sequence[str]], Mapping[str, Values]]
DISCONNECT_CHECK_SECONDS = 0.05  # time in the queue after which the connection of the client is checked


@dataclass(eq=False)
class Job:
    """A request in the queue: its inputs, the names of the required outputs, and a check for disconnection."""

    inputs: Arrays
    wanted: tuple[str, ...]
    disconnected: Callable[[], Awaitable[bool]]
    since: float = field(default_factory=lambda: asyncio.get_running_loop().time())
    answer: asyncio.Future[Arrays] = field(default_factory=lambda: asyncio.get_running_loop().create_future())

    @property
    def rows(self) -> int:
        return len(next(iter(self.inputs.values())))

    @property
    def kind(self) -> tuple[Any, ...]:
        return tuple((name, values.shape[1:]) for name, values in self.inputs.items())


class Batcher:
    """The queue. `observe(rows)` is called for every batch."""

    def __init__(self, run: Run, batching: Batching, observe: Callable[[int], None]) -> None:
        self.run, self.batching, self.observe = run, batching, observe
        self._waiting: deque[Job] = deque()
        self._running: list[Job] = []
        self._arrived = asyncio.Event()

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
            left = [*self._running, *self._waiting]
            _resolve(left, [unavailable("the server is shutting down")] * len(left))

    async def outputs(self, job: Job) -> Arrays:
        self._waiting.append(job)
        self._arrived.set()
        return await job.answer

    async def _work(self, pool: ThreadPoolExecutor) -> None:
        loop = asyncio.get_running_loop()
        while True:
            await self._gather()
            self._running = batch = await self._take()
            if batch:
                self.observe(sum(job.rows for job in batch))
                _resolve(batch, await loop.run_in_executor(pool, _outcomes, self.run, batch))

    async def _gather(self) -> None:
        """Wait until a batch is full, or the oldest request has waited long enough."""
        loop = asyncio.get_running_loop()
        while not self._waiting:
            self._arrived.clear()
            await self._arrived.wait()
        until = self._waiting[0].since + self.batching.seconds
        while sum(job.rows for job in self._waiting) < self.batching.rows and loop.time() < until:
            self._arrived.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout_at(until):
                    await self._arrived.wait()

    async def _take(self) -> list[Job]:
        """Requests of the same kind as the oldest one, in order. An oversized oldest request runs alone. The others go
        back to the front of the queue, so that no request starves."""
        batch: list[Job] = []
        others: list[Job] = []
        room = self.batching.rows
        while self._waiting and room > 0:
            job = self._waiting.popleft()
            if await _is_cancelled(job):
                continue
            if batch and (job.kind != batch[0].kind or job.rows > room):
                others.append(job)
            else:
                batch.append(job)
                room -= job.rows
        self._waiting.extendleft(reversed(others))
        return batch


async def _is_cancelled(job: Job) -> bool:
    """Whether the client has disconnected; checked only after some time in the queue."""
    waited = asyncio.get_running_loop().time() - job.since
    if not job.answer.done() and waited > DISCONNECT_CHECK_SECONDS and await job.disconnected():
        job.answer.set_exception(ClientDisconnect)
    return job.answer.done()


def _outcomes(run: Run, batch: Sequence[Job]) -> list[Arrays | Exception]:
    """The outputs or the exception of each job. Warnings about extreme inputs would fill the log of the server."""
    try:
        with np.errstate(all="ignore"):
            return list(_run(run, batch))
    except Exception as error:
        return [error] if len(batch) == 1 else [_outcomes(run, [job])[0] for job in batch]


def _run(run: Run, batch: Sequence[Job]) -> list[Arrays]:
    wanted = tuple(dict.fromkeys(name for job in batch for name in job.wanted))
    inputs = {name: _joined([job.inputs[name] for job in batch]) for name in batch[0].inputs}
    outputs = run(inputs, wanted)
    ends = np.cumsum([job.rows for job in batch]).tolist()
    wrong = [f"{name} {values.shape}" for name, values in outputs.items() if len(values) != ends[-1]]
    if wrong:
        raise ValueError(f"the model returned {', '.join(wrong)} for {ends[-1]} rows")
    return [_part(job, outputs, end) for job, end in zip(batch, ends, strict=True)]


def _part(job: Job, outputs: Mapping[str, Values], end: int) -> Arrays:
    return {name: outputs[name][end - job.rows : end] for name in job.wanted}


def _joined(parts: list[Values]) -> Values:
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _resolve(batch: Sequence[Job], outcomes: Sequence[Arrays | Exception]) -> None:
    for job, outcome in zip(batch, outcomes, strict=True):
        if job.answer.done():
            continue
        if isinstance(outcome, Exception):
            job.answer.set_exception(outcome)
        else:
            job.answer.set_result(outcome)
