"""Requests that wait for the model are run together: as many rows at a time as have gathered, in one thread.

While the model runs, the next batch gathers by itself, so waiting for company is worth it only where a run costs much
more than the wait. Rows are put together only with rows of the same shape. Whoever has gone away is left out; a run
that fails is repeated one request at a time, so that only the one at fault hears of it.
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

from slova.serve.limits import Batching, busy
from slova.serve.model import Arrays

__all__ = ["Batcher", "Job"]

Values = np.ndarray[Any, Any]
Run = Callable[[Arrays, Sequence[str]], Mapping[str, Values]]
PATIENCE = 0.05  # seconds in the queue after which it is asked whether the client is still there


@dataclass(eq=False)
class Job:
    """The inputs of a request, of as many rows, and the outputs that it needs."""

    inputs: Arrays
    wanted: tuple[str, ...]
    gone: Callable[[], Awaitable[bool]]
    since: float = field(default_factory=lambda: asyncio.get_running_loop().time())
    answer: asyncio.Future[Arrays] = field(default_factory=lambda: asyncio.get_running_loop().create_future())

    @property
    def rows(self) -> int:
        return len(next(iter(self.inputs.values())))

    @property
    def kind(self) -> tuple[Any, ...]:
        return tuple((name, values.shape[1:]) for name, values in self.inputs.items())


class Batcher:
    """`observe(rows)` hears of every batch."""

    def __init__(self, run: Run, batching: Batching, observe: Callable[[int], None]) -> None:
        self.run, self.batching, self.observe = run, batching, observe
        self._waiting: deque[Job] = deque()
        self._running: list[Job] = []
        self._arrived = asyncio.Event()

    @asynccontextmanager
    async def working(self) -> AsyncIterator[None]:
        """The thread, and who feeds it; whoever waits at the end is told that it is over."""
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
            _tell(left, [busy("the server is shutting down")] * len(left))

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
                _tell(batch, await loop.run_in_executor(pool, _outcomes, self.run, batch))

    async def _gather(self) -> None:
        """Until a batch is full, or the one who came first has waited long enough."""
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
        """Those of the same kind as the first, in the order they came; a first one of too many rows goes alone. The
        others go back to the front, so that nobody is overtaken for ever."""
        batch: list[Job] = []
        others: list[Job] = []
        room = self.batching.rows
        while self._waiting and room > 0:
            job = self._waiting.popleft()
            if await _left(job):
                continue
            if batch and (job.kind != batch[0].kind or job.rows > room):
                others.append(job)
            else:
                batch.append(job)
                room -= job.rows
        self._waiting.extendleft(reversed(others))
        return batch


async def _left(job: Job) -> bool:
    """Whether nobody waits for it any more; asked only of those who waited long."""
    waited = asyncio.get_running_loop().time() - job.since
    if not job.answer.done() and waited > PATIENCE and await job.gone():
        job.answer.set_exception(ClientDisconnect)
    return job.answer.done()


def _outcomes(run: Run, batch: Sequence[Job]) -> list[Arrays | Exception]:
    """The outputs of each job, or what it failed with."""
    try:
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
        raise ValueError(f"the model gave {', '.join(wrong)} for {ends[-1]} rows")
    return [_part(job, outputs, end) for job, end in zip(batch, ends, strict=True)]


def _part(job: Job, outputs: Mapping[str, Values], end: int) -> Arrays:
    return {name: outputs[name][end - job.rows : end] for name in job.wanted}


def _joined(parts: list[Values]) -> Values:
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _tell(batch: Sequence[Job], outcomes: Sequence[Arrays | Exception]) -> None:
    for job, outcome in zip(batch, outcomes, strict=True):
        if job.answer.done():
            continue
        if isinstance(outcome, Exception):
            job.answer.set_exception(outcome)
        else:
            job.answer.set_result(outcome)
