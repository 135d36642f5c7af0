"""Around every route: the token, the clock, and one form for whatever goes wrong."""

from __future__ import annotations

import hmac
import logging
import time
from collections.abc import Mapping

from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from slova.serve.measures import Measures

__all__ = ["HEAD", "Gate", "refusal"]

OPEN = ("/", "/docs", "/openapi.json")  # pages that know nothing of the model, and health
HEAD = 16 << 10  # bytes of the headers of a request
GONE = 499  # counted where the client left before its answer
logger = logging.getLogger("slova.serve")


def refusal(status: int, sentence: str, headers: Mapping[str, str] | None = None) -> JSONResponse:
    return JSONResponse({"error": sentence}, status, dict(headers or {}))


class Gate:
    """An ASGI application around another one."""

    def __init__(self, app: ASGIApp, measures: Measures, token: str | None) -> None:
        self.app, self.measures = app, measures
        self.expected = None if token is None else f"Bearer {token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        start, status = time.perf_counter(), GONE

        async def watched(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._pass(scope, receive, watched)
        except ClientDisconnect:
            pass
        except Exception:
            logger.exception("a request could not be answered")
            if status == GONE:
                await refusal(500, "the server could not answer this; its log says why")(scope, receive, watched)
        finally:
            route = getattr(scope.get("route"), "path", "other")
            self.measures.request(route, status, time.perf_counter() - start)

    async def _pass(self, scope: Scope, receive: Receive, send: Send) -> None:
        if sum(len(name) + len(value) for name, value in scope["headers"]) > HEAD:
            await refusal(431, f"the headers have more than {HEAD} bytes")(scope, receive, send)
        elif self.expected is not None and not _open(scope["path"]) and not self._known(scope):
            sentence = "wanted the header Authorization: Bearer, with the token of this server"
            await refusal(401, sentence, {"WWW-Authenticate": "Bearer"})(scope, receive, send)
        else:
            await self.app(scope, receive, send)

    def _known(self, scope: Scope) -> bool:
        """Compared in a time that does not depend on where they differ."""
        given = [value for name, value in scope["headers"] if name == b"authorization"]
        return self.expected is not None and len(given) == 1 and hmac.compare_digest(given[0], self.expected)


def _open(path: str) -> bool:
    return path in OPEN or path.startswith(("/pages/", "/v2/health/"))
