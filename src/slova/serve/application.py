"""The ASGI application: all routes, the middleware, and error handlers."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI, Request, Response
from starlette.exceptions import HTTPException

import slova
from slova.serve import schema
from slova.serve.drift import WINDOW
from slova.serve.limits import Batching, Limits, RequestError
from slova.serve.middleware import Middleware, error_response
from slova.serve.model import Model
from slova.serve.oip_routes import add_oip_routes
from slova.serve.pages import add_pages
from slova.serve.routes import add_routes
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
    """The application that serves a model. With a `token`, requests without it are restricted to the health routes, the
    pages and the OpenAPI description. Drift is measured on the last `window` rows."""
    service = Service(model, limits, batching, window)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        async with service.working():
            yield

    app = FastAPI(
        title="slova", version=slova.__version__, description=schema.ABOUT, lifespan=lifespan,
        docs_url=None, redoc_url=None, redirect_slashes=False,  # a redirect would follow a forged Host
    )  # fmt: skip
    app.add_middleware(Middleware, metrics=service.metrics, token=token)
    app.add_exception_handler(RequestError, _request_error)
    app.add_exception_handler(HTTPException, _http_error)
    add_routes(app, service)
    add_oip_routes(app, service)
    add_pages(app)
    return app


def _request_error(_: Request, error: Exception) -> Response:
    assert isinstance(error, RequestError)
    return error_response(error.status, error.message, error.headers)


def _http_error(request: Request, error: Exception) -> Response:
    """An unknown path or method."""
    assert isinstance(error, HTTPException)
    return error_response(error.status_code, f"{request.method} {request.url.path[:80]}: {error.detail}", error.headers)
