"""The server process: a socket, uvicorn with limits, and graceful shutdown."""

from __future__ import annotations

import errno
import signal
import socket
from types import FrameType
from typing import Any

import uvicorn

from slova.serve.connection import connection
from slova.serve.limits import Limits
from slova.serve.middleware import HEAD

__all__ = ["ServeError", "listen", "serve"]

KEEP_ALIVE = 75  # seconds that an idle connection stays open
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
        raise ServeError(f"{host} port {port} cannot be listened on: {error.strerror}") from error


def serve(app: Any, listener: socket.socket, *, limits: Limits = DEFAULT_LIMITS, grace: float = 30.0) -> None:
    """Serve until a signal. Then no new requests are accepted, and those in progress have `grace` seconds to finish."""
    server(app, limits, grace).run([listener])


def server(app: Any, limits: Limits = DEFAULT_LIMITS, grace: float = 30.0) -> uvicorn.Server:
    config = uvicorn.Config(
        app,
        http=connection(limits),
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
