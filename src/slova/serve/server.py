"""The server process: a socket, uvicorn with limits, and graceful shutdown.

uvicorn itself limits only how long an idle connection stays open. It has no public interface for limits of slow
headers, of the unread rest of a body, of responses that are not read, and of connections per client: only the class of
a connection can be given, so one of its own is extended here.
"""

from __future__ import annotations

import asyncio
import errno
import signal
import socket
from collections import Counter
from types import FrameType
from typing import Any

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from slova.serve.limits import Limits
from slova.serve.middleware import HEAD

__all__ = ["ServeError", "listen", "serve"]

KEEP_ALIVE = 75  # seconds that an idle connection stays open
LITTLE, MUCH = 1 << 10, 32 << 10  # bytes that are read at once
LINES = 128  # in what was read, above which little is read next: h11 takes long for many small chunks
REQUEST_TIMEOUT = b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
DEFAULT_LIMITS = Limits()


class ServeError(ValueError):
    """The port cannot be used."""


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens on this port, 0 for any free one."""
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        return socket.create_server(address[:2], family=family, backlog=2048)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise ServeError(f"port {port} of {host} is in use: choose another one with --port") from error
        reason = str(error.strerror).partition(" (while")[0]  # what the socket module adds
        raise ServeError(f"{host} port {port} cannot be listened on: {reason}") from error


def serve(app: Any, listener: socket.socket, *, limits: Limits = DEFAULT_LIMITS, grace: float = 30.0) -> None:
    """Serve until a signal. Then no new requests are accepted, and those in progress have `grace` seconds to finish."""
    server(app, limits, grace).run([listener])


def server(app: Any, limits: Limits = DEFAULT_LIMITS, grace: float = 30.0) -> uvicorn.Server:
    config = uvicorn.Config(
        app,
        http=type("Limited", (Connection,), {"server_limits": limits}),
        loop="asyncio",  # uvloop reads more at once
        ws="none",
        lifespan="on",
        log_level="error",
        access_log=False,
        server_header=False,
        timeout_keep_alive=KEEP_ALIVE,
        timeout_graceful_shutdown=max(1, round(grace)),
        h11_max_incomplete_event_size=HEAD,
    )
    return Server(config)


class Server(uvicorn.Server):
    """A signal shuts the server down gracefully and is not raised again; a second interrupt ends it immediately."""

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self.force_exit = self.should_exit and sig == signal.SIGINT
        self.should_exit = True


class Connection(H11Protocol, asyncio.BufferedProtocol):
    """A connection with time limits. `_head` runs while headers, or the unread rest of a body, are being received,
    `_answer` while the client does not read."""

    server_limits: Limits
    _size = LITTLE
    _received = bytearray()
    _head: asyncio.TimerHandle | None = None
    _answer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        # asyncio sets it only if the socket declares its protocol; without it small responses wait for a delayed ACK
        transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if len(self.connections) > self.server_limits.connections:  # close one of the client that has the most
            counts = Counter(map(_host, self.connections))
            most = max(counts.values())
            next(each for each in (self, *self.connections) if counts[_host(each)] == most).transport.abort()
        self._update_timer()

    def get_buffer(self, _: int) -> bytearray:
        self._received = bytearray(self._size)
        return self._received

    def buffer_updated(self, count: int) -> None:
        """All that was read is handled before others are answered, so it is little where it may take long."""
        data, self._received = bytes(self._received[:count]), bytearray()
        self._size = LITTLE if data.count(b"\r\n") > LINES else min(2 * self._size, MUCH)
        self.data_received(data)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._update_timer()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._update_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._head, self._answer = _cancelled(self._head), _cancelled(self._answer)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._answer = self.loop.call_later(self.server_limits.answer_seconds, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._answer = _cancelled(self._answer)

    def _update_timer(self) -> None:
        """Between two requests uvicorn has its own timeout."""
        answering = self.cycle is not None and not self.cycle.response_complete
        idle = self.cycle is not None and self.conn.their_state is h11.IDLE and not self.conn.trailing_data[0]
        if answering or idle or self.transport.is_closing():
            self._head = _cancelled(self._head)
        elif self._head is None:
            self._head = self.loop.call_later(self.server_limits.head_seconds, self._time_out)

    def _time_out(self) -> None:
        if self.conn.our_state is h11.IDLE:
            self.transport.write(REQUEST_TIMEOUT)
        self.transport.close()


def _cancelled(timer: asyncio.TimerHandle | None) -> asyncio.TimerHandle | None:
    if timer is not None:
        timer.cancel()
    return None


def _host(connection: Any) -> str:
    return connection.client[0] if connection.client else ""
