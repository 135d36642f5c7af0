"""uvicorn's HTTP connection with timeouts for slow headers, for the rest of unread bodies, and for unread responses.

uvicorn itself limits only how long an idle connection stays open. It has no public interface for these timeouts.
"""

from __future__ import annotations

import asyncio
import socket
from collections import Counter
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from slova.serve.limits import Limits

__all__ = ["connection"]

REQUEST_TIMEOUT = b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"


def connection(limits: Limits) -> type[asyncio.Protocol]:
    """A protocol for `uvicorn.Config(http=...)`."""

    class Limited(_Connection):
        server_limits = limits

    return Limited


class _Connection(H11Protocol):
    server_limits: Limits
    _head: asyncio.TimerHandle | None = None
    _answer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        # asyncio sets it only if the socket declares its protocol; without it small responses wait for a delayed ACK
        transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if len(self.connections) > self.server_limits.connections:
            self._crowding().transport.abort()
        self._update_timer()

    def _crowding(self) -> Any:
        """The connection to close: one of the client that has the most, this one if it is of that client."""
        counts = Counter(map(_host, self.connections))
        most = max(counts.values())
        return next(each for each in (self, *self.connections) if counts[_host(each)] == most)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._update_timer()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._update_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._cancel_timers("_head", "_answer")

    def pause_writing(self) -> None:
        super().pause_writing()
        self._answer = self.loop.call_later(self.server_limits.answer_seconds, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._cancel_timers("_answer")

    def _update_timer(self) -> None:
        """The timer runs while headers, or the unread rest of a body, are being received."""
        answering = self.cycle is not None and not self.cycle.response_complete
        if answering or self._idle() or self.transport.is_closing():
            self._cancel_timers("_head")
        elif self._head is None:
            self._head = self.loop.call_later(self.server_limits.head_seconds, self._time_out)

    def _idle(self) -> bool:
        """Between two requests, where uvicorn has its own timeout."""
        return self.cycle is not None and self.conn.their_state is h11.IDLE and not self.conn.trailing_data[0]

    def _time_out(self) -> None:
        if self.conn.our_state is h11.IDLE:
            self.transport.write(REQUEST_TIMEOUT)
        self.transport.close()

    def _cancel_timers(self, *timers: str) -> None:
        for name in timers:
            if (timer := getattr(self, name)) is not None:
                timer.cancel()
            setattr(self, name, None)


def _host(connection: Any) -> str:
    return connection.client[0] if connection.client else ""
