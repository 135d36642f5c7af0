"""What both routes do with a request: read the body within its limits, ask the model, reject, count."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from fastapi import Request

from slova.serve.batching import Batcher, Job
from slova.serve.drift import Watch
from slova.serve.limits import Admission, Batching, Limits, Refused, Ticket
from slova.serve.measures import Measures
from slova.serve.model import Arrays, Model

__all__ = ["Service"]


class Service:
    """A model, its queue, and what is known of its answers."""

    def __init__(self, model: Model, limits: Limits, batching: Batching, window: int) -> None:
        self.model, self.limits = model, limits
        self.watch = Watch(model.validation, window)
        self.admission = Admission(limits)
        self.measures = Measures(model, self.watch, self.admission)
        self.batcher = Batcher(model.run, batching, self.measures.batch)

    async def body(self, request: Request, ticket: Ticket) -> bytes:
        """All of it, counted as it comes; the whole must be there in time, so that drops do not keep a door open."""
        if request.headers.get("content-encoding", "identity").lower() != "identity":
            raise Refused(415, "the body is compressed, which is not served")
        _check_length(request.headers.get("content-length"), self.limits)
        parts = []
        try:
            async with asyncio.timeout(self.limits.body_seconds):
                async for part in request.stream():
                    ticket.hold(len(part))
                    parts.append(part)
        except TimeoutError as error:
            raise Refused(408, f"the body did not come within {self.limits.body_seconds:g} seconds") from error
        return b"".join(parts)

    async def answer(self, request: Request, inputs: Arrays, wanted: Iterable[str], reject: float) -> Arrays:
        needed = self.model.needed(tuple(wanted), reject)
        outputs = await self.batcher.outputs(Job(inputs, needed, request.is_disconnected))
        answer = self.model.rejected(outputs, reject)
        self.watch.add(answer["confidence"], answer["label"])
        return answer


def _check_length(said: str | None, limits: Limits) -> None:
    """Refused before a byte of it is read."""
    if said is not None and said.isdigit() and int(said) > limits.body:
        raise Refused(413, f"the body has {said} bytes, and the limit is {limits.body}")
