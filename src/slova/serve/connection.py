"""uvicorn's HTTP connection with an end to patience: a head that trickles, an unread rest, an answer nobody takes.

uvicorn itself limits only how long an idle connection stays open after an answer.
"""

from __future__ import annotations

import asyncio
import socket

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from slova.serve.limits import Limits

__all__ = ["connection"]

LATE = b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"


def connection(limits: Limits) -> type[asyncio.Protocol]:
    """A protocol for `uvicorn.Config(http=...)`."""

    class Limited(_Connection):
        patience = limits

    return Limited


class _Connection(H11Protocol):
    patience: Limits
    _head: asyncio.TimerHandle | None = None
    _answer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        # asyncio does so itself only where the listener names its protocol; else small answers wait for a late ACK
        transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if len(self.connections) > self.patience.connections:
            transport.abort()
        self._expect()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._expect()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._expect()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._stop("_head", "_answer")

    def pause_writing(self) -> None:
        super().pause_writing()
        self._answer = self.loop.call_later(self.patience.answer_seconds, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._stop("_answer")

    def _expect(self) -> None:
        """The clock runs while a head, or the unread rest of a body, is on its way."""
        answering = self.cycle is not None and not self.cycle.response_complete
        if answering or self._idle() or self.transport.is_closing():
            self._stop("_head")
        elif self._head is None:
            self._head = self.loop.call_later(self.patience.head_seconds, self._late)

    def _idle(self) -> bool:
        """Between two requests, where uvicorn has a clock of its own."""
        return self.cycle is not None and self.conn.their_state is h11.IDLE and not self.conn.trailing_data[0]

    def _late(self) -> None:
        if self.conn.our_state is h11.IDLE:
            self.transport.write(LATE)
        self.transport.close()

    def _stop(self, *timers: str) -> None:
        for name in timers:
            if (timer := getattr(self, name)) is not None:
                timer.cancel()
            setattr(self, name, None)
