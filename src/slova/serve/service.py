"""The steps that all prediction routes share: read the body within limits, run the model, reject, record."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from functools import partial
from typing import TypeVar

from fastapi import Request

from slova.serve.batching import Batcher, Job
from slova.serve.drift import DriftMonitor
from slova.serve.json_input import Counts, most_marks
from slova.serve.limits import Admission, Batching, Limits, RequestError, Ticket
from slova.serve.model import Arrays, Model
from slova.serve.prometheus import ServerMetrics

__all__ = ["Service", "client_of"]

SMALL = 64 << 10  # bytes of a body that is parsed at once; larger ones would delay others
Parsed = TypeVar("Parsed")
Parse = Callable[[bytearray, Model, Limits, Counts], Parsed]


class Service:
    """A model with its queue, limits, metrics and drift monitor."""

    def __init__(self, model: Model, limits: Limits, batching: Batching, window: int) -> None:
        self.model, self.limits = model, limits
        self.drift_monitor = DriftMonitor(model.validation, window)
        self.admission = Admission(limits)
        self.metrics = ServerMetrics(model, self.drift_monitor, self.admission)
        self.batcher = Batcher(model.run, batching, self.metrics.batch)
        self.most = most_marks(model, limits.rows)
        self._parser = ThreadPoolExecutor(1, "slova-parse")

    @asynccontextmanager
    async def working(self) -> AsyncIterator[None]:
        """Run the threads."""
        async with self.batcher.working():
            yield
        self._parser.shutdown(wait=False, cancel_futures=True)

    async def parsed(self, request: Request, ticket: Ticket, parse: Parse[Parsed]) -> Parsed:
        """The request, whose place is taken when its body is there. Large bodies are parsed one at a time in a
        thread."""
        body = await self._body(request, ticket)
        ticket.admit()
        call = partial(parse, body, self.model, self.limits, self.most)
        return call() if len(body) <= SMALL else await asyncio.get_running_loop().run_in_executor(self._parser, call)

    async def _body(self, request: Request, ticket: Ticket) -> bytearray:
        """The whole body, counted while it is received. The time limit covers all of it."""
        if request.headers.get("content-encoding", "identity").lower() != "identity":
            raise RequestError(415, "compressed bodies are not supported")
        _check_length(request.headers.get("content-length"), self.limits)
        body = bytearray()
        try:
            async with asyncio.timeout(self.limits.body_seconds):
                async for part in request.stream():
                    ticket.hold(len(part))
                    body += part
        except TimeoutError as error:
            raise RequestError(408, f"the body was not received within {self.limits.body_seconds:g} seconds") from error
        return body

    async def predict(self, request: Request, inputs: Arrays, outputs: Iterable[str], reject: float) -> Arrays:
        required = self.model.required_outputs(tuple(outputs), reject)
        found = await self.batcher.outputs(Job(inputs, required, request.is_disconnected))
        answer = self.model.apply_reject(found, reject)
        self.drift_monitor.add(answer["confidence"], answer["label"])
        return answer


def client_of(request: Request) -> str:
    return request.client.host if request.client else ""


def _check_length(length: str | None, limits: Limits) -> None:
    """Reject a large body before any of it is read."""
    if length is not None and length.isdigit() and int(length) > limits.body:
        raise RequestError(413, f"the body has {length} bytes; the limit is {limits.body}")
