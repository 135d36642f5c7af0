"""The routes of the Open Inference Protocol v2 (KServe, NVIDIA Triton), with the binary tensor extension."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI, Request, Response

import slova
from slova.serve import schema
from slova.serve.limits import Refused
from slova.serve.model import Model
from slova.serve.oip_request import query, rows_of
from slova.serve.responses import VERSION, check_size, reply
from slova.serve.service import Service

__all__ = ["add_protocol"]

HEAD = "inference-header-content-length"
MODEL = "/v2/models/{name}"
VERSIONED = MODEL + "/versions/{version}"


def add_protocol(app: FastAPI, service: Service) -> None:
    _add_health(app, service.model)
    _add_metadata(app, service.model)

    @app.post(f"{MODEL}/infer", summary="Run the model", tags=["Open Inference Protocol"], **schema.INFER)
    @app.post(f"{VERSIONED}/infer", include_in_schema=False)
    async def infer(request: Request, name: str, version: str = VERSION) -> Response:
        _check(service.model, name, version)
        with service.admission.enter() as ticket:
            body = await service.body(request, ticket)
            asked = query(body, request.headers.get(HEAD), service.model, service.limits)
            check_size(asked, rows_of(asked.inputs, service.limits), service.model, service.limits)
            wanted = (one.name for one in asked.outputs)
            answer = await service.answer(request, asked.inputs, wanted, asked.reject)
            return reply(asked, answer, service.model)


def _add_health(app: FastAPI, model: Model) -> None:
    @app.get("/v2/health/live", summary="Whether the server is up", tags=["health"])
    async def live() -> dict[str, bool]:
        return {"live": True}

    @app.get("/v2/health/ready", summary="Whether it answers requests", tags=["health"])
    async def ready() -> dict[str, bool]:
        return {"ready": True}

    @app.get(f"{MODEL}/ready", summary="Whether the model answers requests", tags=["Open Inference Protocol"])
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
            "inputs": [tensor.described() for tensor in model.inputs],
            "outputs": [tensor.described() for tensor in model.outputs],
        }


def _check(model: Model, name: str, version: str) -> None:
    if name != model.name:
        raise Refused(404, f"there is no model {name[:80]!r} here, only {model.name!r}")
    if version != VERSION:
        raise Refused(404, f"the model {name} has no version {version[:80]!r}, only {VERSION!r}")
