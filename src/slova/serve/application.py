"""The ASGI application: the plain route, those of the Open Inference Protocol v2 (KServe, NVIDIA Triton), metrics, and
what all predictions share: the body is read within limits, the model is run, and its answer is recorded."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, TypeVar

from fastapi import FastAPI, Request, Response
from fastapi.routing import APIRoute
from prometheus_client import generate_latest
from starlette.exceptions import HTTPException

import slova
from slova.prediction import COLUMNS
from slova.serve import schema
from slova.serve.batching import Batcher, Job, Queue
from slova.serve.limits import SMALL, Admission, Batching, Limits, RequestError, Ticket
from slova.serve.middleware import Middleware, error_response
from slova.serve.model import Arrays, Model
from slova.serve.monitoring import WINDOW, DriftMonitor, ServerMetrics
from slova.serve.pages import add_pages
from slova.serve.requests import Counts, check_rows, most_marks, parse_infer, parse_predict
from slova.serve.responses import VERSION, check_size, infer_response, predict_response

__all__ = ["Service", "application", "asgi"]

DEFAULT_LIMITS, DEFAULT_BATCHING = Limits(), Batching()
HEAD = "inference-header-content-length"
MODEL, VERSIONED = "/v2/models/{name}", "/v2/models/{name}/versions/{version}"
PLAIN: dict[str, Any] = {"tags": ["plain"]}
HEALTH: dict[str, Any] = {"tags": ["health"]}
PROTOCOL: dict[str, Any] = {"tags": ["Open Inference Protocol"]}
Converted = TypeVar("Converted")
Parse = Callable[[bytearray, Model, Limits, Counts], Converted]


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
    return asgi(Service(model, limits, batching, window), token)


def asgi(service: Service, token: str | None) -> FastAPI:
    app = FastAPI(
        title="slova", version=slova.__version__, description=schema.ABOUT, lifespan=service.working,
        docs_url=None, redoc_url=None, redirect_slashes=False,  # a redirect would follow a forged Host
    )  # fmt: skip
    app.add_middleware(Middleware, metrics=service.metrics, token=token)
    app.add_exception_handler(RequestError, _request_error)
    app.add_exception_handler(HTTPException, _http_error)
    _add_predictions(app, service)
    _add_descriptions(app, service)
    add_pages(app)
    return app


class Service:
    """A model with its queue, limits, metrics and drift monitor."""

    def __init__(
        self, model: Model, limits: Limits, batching: Batching, window: int, queue: type[Queue] = Batcher
    ) -> None:
        self.model, self.limits = model, limits
        self.admission = Admission(limits)
        self.metrics = ServerMetrics(model, DriftMonitor(model.validation, window), self.admission)
        self.batcher = queue(model.run, batching, self.metrics.batches.observe)
        self.most = most_marks(model, limits.rows)
        self._converter = ThreadPoolExecutor(1, "slova-json")

    @asynccontextmanager
    async def working(self, _: FastAPI) -> AsyncIterator[None]:
        """Run the threads."""
        async with self.batcher.working():
            yield
        self._converter.shutdown(wait=False, cancel_futures=True)

    async def parsed(self, request: Request, ticket: Ticket, parse: Parse[Converted]) -> Converted:
        """The request, whose place is taken when its body is there."""
        body = await self._body(request, ticket)
        ticket.admit()
        return await self.converted(len(body), partial(parse, body, self.model, self.limits, self.most))

    async def converted(self, size: int, call: Callable[[], Converted]) -> Converted:
        """A parsed body or a response. Large ones would delay others, so they are made one at a time in a thread."""
        return call() if size <= SMALL else await asyncio.get_running_loop().run_in_executor(self._converter, call)

    async def _body(self, request: Request, ticket: Ticket) -> bytearray:
        """The whole body, counted while it is received, in limited time. A large one is rejected before any of it is
        read."""
        if request.headers.get("content-encoding", "identity").lower() != "identity":
            raise RequestError(415, "compressed bodies are not supported")
        length, seconds, body = request.headers.get("content-length", ""), self.limits.body_seconds, bytearray()
        if length.isdigit() and int(length) > self.limits.body:
            raise RequestError(413, f"the body has {length} bytes; the limit is {self.limits.body}")
        try:
            async with asyncio.timeout(seconds):
                async for part in request.stream():
                    ticket.hold(len(part))
                    body += part
        except TimeoutError as error:
            raise RequestError(408, f"the body was not received within {seconds:g} seconds") from error
        return body

    async def predict(self, request: Request, inputs: Arrays, outputs: Iterable[str], reject: float) -> Arrays:
        required = self.model.required_outputs(tuple(outputs), reject)
        found = await self.batcher.outputs(Job(inputs, required, request.is_disconnected))
        answer = self.model.apply_reject(found, reject)
        self.metrics.predicted(answer["confidence"], answer["label"])
        return answer


def _add_predictions(app: FastAPI, service: Service) -> None:
    model, limits = service.model, service.limits

    async def predict(request: Request) -> Response:
        with service.admission.enter(_client(request)) as ticket:
            inputs, reject = await service.parsed(request, ticket, parse_predict)
            return predict_response(await service.predict(request, inputs, COLUMNS, reject), model)

    async def infer(request: Request, name: str, version: str = VERSION) -> Response:
        _check(model, name, version)
        with service.admission.enter(_client(request)) as ticket:
            parsed = await service.parsed(request, ticket, partial(parse_infer, head=request.headers.get(HEAD)))
            size = check_size(parsed, check_rows(parsed.inputs, limits), model, limits)
            answer = await service.predict(request, parsed.inputs, parsed.outputs, parsed.reject)
            return await service.converted(size, partial(infer_response, parsed, answer, model))

    add = partial(app.router.add_api_route, methods=["POST"], route_class_override=Direct)
    add("/predict", predict, summary="One prediction per row", **PLAIN, **schema.PREDICT)
    add(f"{MODEL}/infer", infer, summary="Run the model", **PROTOCOL, **schema.INFER)
    add(f"{VERSIONED}/infer", infer, include_in_schema=False)


class Direct(APIRoute):
    """A route whose endpoint validates its request itself: FastAPI takes longer to find out that it has nothing to
    validate than the endpoint takes for a row."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        async def answer(request: Request) -> Response:
            response: Response = await self.endpoint(request, **request.path_params)
            return response

        return answer


def _add_descriptions(app: FastAPI, service: Service) -> None:
    model = service.model

    @app.get("/predict", summary="The inputs of the model", **PLAIN)
    async def description() -> dict[str, Any]:
        return model.describe()

    @app.get("/metrics", summary="Prometheus metrics", **HEALTH)
    async def metrics() -> Response:
        page = generate_latest(service.metrics.registry)
        return Response(page, media_type="text/plain; version=0.0.4; charset=utf-8")

    @app.get("/v2/health/live", summary="Whether the server is up", **HEALTH)
    async def live() -> dict[str, bool]:
        return {"live": True}

    @app.get("/v2/health/ready", summary="Whether the server is ready", **HEALTH)
    async def ready() -> dict[str, bool]:
        return {"ready": True}

    @app.get("/v2", summary="The server", **PROTOCOL)
    async def server() -> dict[str, Any]:
        return {"name": "slova", "version": slova.__version__, "extensions": ["binary_tensor_data"]}

    @app.get(f"{MODEL}/ready", summary="Whether the model is ready", **PROTOCOL)
    @app.get(f"{VERSIONED}/ready", include_in_schema=False)
    async def model_ready(name: str, version: str = VERSION) -> dict[str, Any]:
        _check(model, name, version)
        return {"name": name, "ready": True}

    @app.get(MODEL, summary="The model: its inputs and outputs", **PROTOCOL)
    @app.get(VERSIONED, include_in_schema=False)
    async def metadata(name: str, version: str = VERSION) -> dict[str, Any]:
        _check(model, name, version)
        tensors = {key: [each.describe() for each in getattr(model, key)] for key in ("inputs", "outputs")}
        return {"name": model.name, "versions": [VERSION], "platform": model.platform, **tensors}


def _check(model: Model, name: str, version: str) -> None:
    if name != model.name:
        raise RequestError(404, f"unknown model {name[:80]!r}; this server has {model.name!r}")
    if version != VERSION:
        raise RequestError(404, f"unknown version {version[:80]!r} of {name}; this server has {VERSION!r}")


def _client(request: Request) -> str:
    return request.client.host if request.client else ""


def _request_error(_: Request, error: Exception) -> Response:
    assert isinstance(error, RequestError)
    return error_response(error.status, error.message, error.headers)


def _http_error(request: Request, error: Exception) -> Response:
    """An unknown path or method."""
    assert isinstance(error, HTTPException)
    return error_response(error.status_code, f"{request.method} {request.url.path[:80]}: {error.detail}", error.headers)
