"""Limits of sizes, counts and times, and the error of a request that exceeds them."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

__all__ = ["SMALL", "Admission", "Batching", "Limits", "RequestError", "Ticket", "unavailable"]

MIB = 1 << 20
SMALL = 64 << 10  # bytes of a small body


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Limits per request: bytes of the body (and of the response), rows, seconds to send the headers, to send the body,
    and to read the response. Limits in total: concurrent requests, bytes of their bodies, open connections."""

    body: int = 16 * MIB
    rows: int = 4096
    head_seconds: float = 10.0
    body_seconds: float = 30.0
    answer_seconds: float = 30.0
    requests: int = 256
    held: int = 256 * MIB
    connections: int = 1024


@dataclass(frozen=True, kw_only=True)
class Batching:
    """The model runs on batches of up to `rows` rows; a request waits up to `seconds` for others."""

    rows: int = 256
    seconds: float = 0.0


class RequestError(Exception):
    """An error response: status 4xx or 503, a message for the client, and headers."""

    def __init__(self, status: int, message: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.status, self.message, self.headers = status, message, dict(headers or {})


def unavailable(message: str) -> RequestError:
    return RequestError(503, f"{message}; try again in a second", {"Retry-After": "1"})


@dataclass
class Admission:
    """The requests in progress: the bytes of their bodies, and how many are being answered.

    A request takes a place when its body is there, so slow senders take none. Where the bytes or the places are used
    up, the newest request of the client that uses the most is ended in favour of a client that uses less."""

    limits: Limits
    requests: int = field(default=0, init=False)
    held: int = field(default=0, init=False)
    tickets: list[Ticket] = field(default_factory=list, init=False)

    @contextmanager
    def enter(self, client: str) -> Iterator[Ticket]:
        ticket = Ticket(self, client, asyncio.current_task())
        self.tickets.append(ticket)
        try:
            yield ticket
        except asyncio.CancelledError:
            if ticket.ended is None:
                raise
            asyncio.current_task().uncancel()  # type: ignore[union-attr]
            raise ticket.ended from None
        finally:
            self.tickets.remove(ticket)
            ticket.release()

    def displace(self, ticket: Ticket, resource: Literal["held", "places"], more: int) -> bool:
        """End the newest request of the client that uses the most, if this one would still use less than that."""
        use: Counter[str] = Counter()
        for each in self.tickets:
            use[each.client] += getattr(each, resource)
        client, most = use.most_common(1)[0]
        if most <= use[ticket.client] + more:
            return False
        next(each for each in reversed(self.tickets) if each.client == client and getattr(each, resource)).end(
            unavailable(f"the server is full, and most of its requests are from {client}")
        )
        return True


@dataclass(eq=False)
class Ticket:
    """A request in progress: its client, the task that answers it, the bytes that it holds, and its place (0 or 1)."""

    admission: Admission
    client: str
    task: asyncio.Task[Any] | None
    held: int = 0
    places: int = 0
    ended: RequestError | None = None

    def hold(self, size: int) -> None:
        """Count bytes of the body as they arrive. Large bodies leave a quarter of the bytes to small ones."""
        limits, admission = self.admission.limits, self.admission
        most = limits.held if self.held + size <= SMALL else max(limits.body, 3 * limits.held // 4)
        if self.held + size > limits.body:
            raise RequestError(413, f"the body is larger than {limits.body} bytes, which is the limit")
        while admission.held + size > most:
            if not admission.displace(self, "held", self.held + size):
                raise unavailable(f"the requests in progress hold {admission.held} bytes; the limit is {most}")
        self.held += size
        admission.held += size

    def admit(self) -> None:
        """Take a place, once the body is there."""
        admission = self.admission
        while admission.requests >= admission.limits.requests:
            if not admission.displace(self, "places", 1):
                raise unavailable(f"{admission.requests} requests are in progress, which is the limit")
        self.places = 1
        admission.requests += 1

    def end(self, error: RequestError) -> None:
        self.release()
        self.ended = error
        if self.task is not None:
            self.task.cancel()

    def release(self) -> None:
        self.admission.held -= self.held
        self.admission.requests -= self.places
        self.held = self.places = 0
