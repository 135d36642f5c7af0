"""How much is taken on: sizes, counts and seconds; and how a request that asks for more is refused."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

__all__ = ["Admission", "Batching", "Limits", "Refused", "Ticket", "busy"]

MIB = 1 << 20


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Of one request: bytes of its body (and of its answer), rows, seconds to send the head, the body, and to take the
    answer. Of all together: requests at a time, bytes of bodies at a time, and open connections."""

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
    """The model runs on up to `rows` rows at a time; a request waits up to `seconds` for others to join it."""

    rows: int = 256
    seconds: float = 0.0


class Refused(Exception):
    """An answer in the 400s or 503: the status, and a sentence for whoever asked."""

    def __init__(self, status: int, sentence: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(sentence)
        self.status, self.sentence, self.headers = status, sentence, dict(headers or {})


def busy(sentence: str) -> Refused:
    return Refused(503, f"{sentence}; try again in a second", {"Retry-After": "1"})


@dataclass
class Admission:
    """Who is inside, and how many bytes they brought."""

    limits: Limits
    requests: int = field(default=0, init=False)
    held: int = field(default=0, init=False)

    @contextmanager
    def enter(self) -> Iterator[Ticket]:
        if self.requests >= self.limits.requests:
            raise busy(f"{self.requests} requests are being answered, which is the limit")
        ticket = Ticket(self)
        self.requests += 1
        try:
            yield ticket
        finally:
            self.requests -= 1
            self.held -= ticket.held


@dataclass
class Ticket:
    """One request's share of what is held."""

    admission: Admission
    held: int = 0

    def hold(self, size: int) -> None:
        limits = self.admission.limits
        if self.held + size > limits.body:
            raise Refused(413, f"the body is larger than {limits.body} bytes, which is the limit")
        if self.admission.held + size > limits.held:
            raise busy(f"the requests being answered hold {self.admission.held} bytes, and the limit is {limits.held}")
        self.held += size
        self.admission.held += size
