"""The routes of the Open Inference Protocol v2 (KServe, NVIDIA Triton), with the binary tensor extension."""

from __future__ import annotations

from functools import partial
from typing import Any

from fastapi import FastAPI, Request, Response

import slova
from slova.serve import schema
from slova.serve.limits import RequestError
from slova.serve.model import Model
from slova.serve.oip_request import check_rows, parse_request
from slova.serve.responses import VERSION, check_size, oip_response
from slova.serve.service import Service, client_of

__all__ = ["add_oip_routes"]

HEAD = "inference-header-content-length"
MODEL = "/v2/models/{name}"
VERSIONED = MODEL + "/versions/{version}"


def add_oip_routes(app: FastAPI, service: Service) -> None:
    _add_health(app, service.model)
    _add_metadata(app, service.model)

    @app.post(f"{MODEL}/infer", summary="Run the model", tags=["Open Inference Protocol"], **schema.INFER)
    @app.post(f"{VERSIONED}/infer", include_in_schema=False)
    async def infer(request: Request, name: str, version: str = VERSION) -> Response:
        _check(service.model, name, version)
        with service.admission.enter(client_of(request)) as ticket:
            parsed = await service.parsed(request, ticket, partial(parse_request, head=request.headers.get(HEAD)))
            check_size(parsed, check_rows(parsed.inputs, service.limits), service.model, service.limits)
            names = (one.name for one in parsed.outputs)
            answer = await service.predict(request, parsed.inputs, names, parsed.reject)
            return oip_response(parsed, answer, service.model)


def _add_health(app: FastAPI, model: Model) -> None:
    @app.get("/v2/health/live", summary="Whether the server is up", tags=["health"])
    async def live() -> dict[str, bool]:
        return {"live": True}

    @app.get("/v2/health/ready", summary="Whether the server is ready", tags=["health"])
    async def ready() -> dict[str, bool]:
        return {"ready": True}

    @app.get(f"{MODEL}/ready", summary="Whether the model is ready", tags=["Open Inference Protocol"])
    @app.get(f"{VERSIONED}/ready", include_in_schema=False)
    async def model_ready(name: str, version: str = VERSION) -> dict[str, Any]:
        _check(model, name, version)
        return {"name": name, "ready": True}


def _add_metadata(app: FastAPI, model: Model) -> None:
    @app.get("/v2", summary="The server", tags=["Open Inference Protocol"])
    async def server() -> dict[str, Any]:
        return {"name": "slova", "version": slova.__version__, "extensions": ["binary_tensor_data"]}

    @app.get(MODEL, summary="The model: its inputs and outputs", tags=["Open Inference Protocol"])
    @app.get(VERSIONED, include_in_schema=False)
    async def metadata(name: str, version: str = VERSION) -> dict[str, Any]:
        _check(model, name, version)
        return {
            "name": model.name,
            "versions": [VERSION],
            "platform": model.platform,
            "inputs": [tensor.describe() for tensor in model.inputs],
            "outputs": [tensor.describe() for tensor in model.outputs],
        }


def _check(model: Model, name: str, version: str) -> None:
    if name != model.name:
        raise RequestError(404, f"unknown model {name[:80]!r}; this server has {model.name!r}")
    if version != VERSION:
        raise RequestError(404, f"unknown version {version[:80]!r} of {name}; this server has {VERSION!r}")
