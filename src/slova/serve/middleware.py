"""Middleware around every route: authorization, request metrics, and error responses."""

from __future__ import annotations

import hmac
import logging
import time
from collections.abc import Mapping

from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from slova.serve.monitoring import ServerMetrics

__all__ = ["HEAD", "Middleware", "error_response"]

PUBLIC = ("/", "/docs", "/openapi.json")  # beside the pages and the health routes
HEAD = 16 << 10  # bytes of the headers of a request
CLIENT_CLOSED = 499  # the client closed the connection before the response, as nginx counts it
logger = logging.getLogger("slova.serve")


def error_response(status: int, message: str, headers: Mapping[str, str] | None = None) -> JSONResponse:
    printable = message.encode(errors="replace").decode()  # a JSON string may contain lone surrogates
    return JSONResponse({"error": printable}, status, dict(headers or {}))


class Middleware:
    """An ASGI middleware. `token` is the bearer token that requests must have, if any."""

    def __init__(self, app: ASGIApp, metrics: ServerMetrics, token: str | None) -> None:
        self.app, self.metrics = app, metrics
        self.token = None if token is None else token.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        start, status, head = time.perf_counter(), CLIENT_CLOSED, scope["method"] == "HEAD"
        scope = {**scope, "method": "GET"} if head else scope

        async def recorded(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send({**message, "body": b""} if head and "body" in message else message)

        try:
            await self._respond(scope, receive, recorded)
        except ClientDisconnect:
            pass
        except Exception:
            logger.exception("a request failed")
            if status == CLIENT_CLOSED:
                await error_response(500, "internal server error; the log of the server has the details")(
                    scope, receive, recorded
                )
        finally:
            route = getattr(scope.get("route"), "path", "other")
            self.metrics.request(route, status, time.perf_counter() - start)

    async def _respond(self, scope: Scope, receive: Receive, send: Send) -> None:
        if sum(len(name) + len(value) for name, value in scope["headers"]) > HEAD:
            await error_response(431, f"the headers have more than {HEAD} bytes")(scope, receive, send)
        elif self.token is not None and not _is_public(scope) and not self._authorized(scope):
            message = "the header Authorization: Bearer with the token of this server is required"
            await error_response(401, message, {"WWW-Authenticate": "Bearer"})(scope, receive, send)
        else:
            await self.app(scope, receive, send)

    def _authorized(self, scope: Scope) -> bool:
        """Compared in constant time."""
        given = [value for name, value in scope["headers"] if name == b"authorization"]
        if self.token is None or len(given) != 1:
            return False
        scheme, _, token = given[0].partition(b" ")
        return scheme.lower() == b"bearer" and hmac.compare_digest(token, self.token)


def _is_public(scope: Scope) -> bool:
    path = scope["path"].removeprefix(scope.get("root_path", ""))
    return path in PUBLIC or path.startswith(("/pages/", "/v2/health/"))
