"""Limits of sizes, counts and times, and the error of a request that exceeds them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

__all__ = ["Admission", "Batching", "Limits", "RequestError", "Ticket", "unavailable"]

MIB = 1 << 20


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
    """The number of requests in progress and the bytes of their bodies."""

    limits: Limits
    requests: int = field(default=0, init=False)
    held: int = field(default=0, init=False)

    @contextmanager
    def enter(self) -> Iterator[Ticket]:
        if self.requests >= self.limits.requests:
            raise unavailable(f"{self.requests} requests are in progress, which is the limit")
        ticket = Ticket(self)
        self.requests += 1
        try:
            yield ticket
        finally:
            self.requests -= 1
            self.held -= ticket.held


@dataclass
class Ticket:
    """The bytes that one request holds."""

    admission: Admission
    held: int = 0

    def hold(self, size: int) -> None:
        limits = self.admission.limits
        if self.held + size > limits.body:
            raise RequestError(413, f"the body is larger than {limits.body} bytes, which is the limit")
        if self.admission.held + size > limits.held:
            raise unavailable(f"the requests in progress hold {self.admission.held} bytes; the limit is {limits.held}")
        self.held += size
        self.admission.held += size
