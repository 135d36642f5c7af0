"""The ASGI application: which path answers what."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI, Request, Response
from starlette.exceptions import HTTPException

import slova
from slova.serve import schema
from slova.serve.drift import WINDOW
from slova.serve.limits import Batching, Limits, Refused
from slova.serve.middleware import Gate, refusal
from slova.serve.model import Model
from slova.serve.pages import add_pages
from slova.serve.protocol import add_protocol
from slova.serve.routes import add_plain
from slova.serve.service import Service

__all__ = ["application"]

DEFAULT_LIMITS, DEFAULT_BATCHING = Limits(), Batching()


def application(
    model: Model,
    *,
    limits: Limits = DEFAULT_LIMITS,
    batching: Batching = DEFAULT_BATCHING,
    token: str | None = None,
    window: int = WINDOW,
) -> FastAPI:
    """Everything that is served of a model. With a `token`, only the health, the pages and their description are open
    to whoever does not bring it. The drift is that of the last `window` rows."""
    service = Service(model, limits, batching, window)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        async with service.batcher.working():
            yield

    app = FastAPI(
        title="slova", version=slova.__version__, description=schema.ABOUT, lifespan=lifespan,
        docs_url=None, redoc_url=None,
    )  # fmt: skip
    app.add_middleware(Gate, measures=service.measures, token=token)
    app.add_exception_handler(Refused, _refused)
    app.add_exception_handler(HTTPException, _unknown)
    add_plain(app, service)
    add_protocol(app, service)
    add_pages(app)
    return app


def _refused(_: Request, error: Exception) -> Response:
    assert isinstance(error, Refused)
    return refusal(error.status, error.sentence, error.headers)


def _unknown(request: Request, error: Exception) -> Response:
    """A path or a method that there is not."""
    assert isinstance(error, HTTPException)
    return refusal(error.status_code, f"{request.method} {request.url.path[:80]}: {error.detail}", error.headers)
