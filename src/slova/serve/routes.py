"""The plain JSON route /predict, and /metrics."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI, Request, Response

from slova.prediction import COLUMNS
from slova.serve import schema
from slova.serve.datatypes import convert
from slova.serve.json_input import Counts, as_object, numbers, parse_json, reject_of
from slova.serve.limits import Limits, RequestError
from slova.serve.model import Arrays, Model, Tensor
from slova.serve.oip_request import check_rows
from slova.serve.responses import plain_response
from slova.serve.service import Service, client_of

__all__ = ["add_routes", "parse_plain"]

KNOWN = ("inputs", "reject")


def add_routes(app: FastAPI, service: Service) -> None:
    model = service.model

    @app.get("/predict", summary="The inputs of the model", tags=["plain"])
    async def description() -> dict[str, Any]:
        return model.describe()

    @app.post("/predict", summary="One prediction per row", tags=["plain"], **schema.PREDICT)
    async def predict(request: Request) -> Response:
        with service.admission.enter(client_of(request)) as ticket:
            inputs, reject = await service.parsed(request, ticket, parse_plain)
            return plain_response(await service.predict(request, inputs, COLUMNS, reject), model)

    @app.get("/metrics", summary="Prometheus metrics", tags=["health"])
    async def metrics() -> Response:
        return Response(service.metrics.page(), media_type="text/plain; version=0.0.4; charset=utf-8")


def parse_plain(body: bytes | bytearray, model: Model, limits: Limits, most: Counts) -> tuple[Arrays, float]:
    """The inputs and the threshold of a request."""
    content = as_object(parse_json(body, most), "the request")
    _check_fields(content)
    inputs, reject = _inputs(content.get("inputs"), model), reject_of(content, model.reject)
    check_rows(inputs, limits)
    return inputs, reject


def _check_fields(content: dict[str, Any]) -> None:
    """Unknown fields are errors: a misspelt `reject` would be ignored otherwise."""
    unknown = [key for key in content if key not in KNOWN]
    if unknown:
        raise RequestError(400, f"unknown fields {', '.join(unknown)[:200]}; expected {' and '.join(KNOWN)}")


def _inputs(content: Any, model: Model) -> Arrays:
    """The rows of the only input, or an object with the rows of each input."""
    if len(model.inputs) == 1 and not isinstance(content, dict):
        content = {model.inputs[0].name: content}
    given = as_object(content, "inputs, for a model with several inputs,")
    if given.keys() != {tensor.name for tensor in model.inputs}:
        expected = ", ".join(tensor.name for tensor in model.inputs)
        raise RequestError(400, f"the inputs are {', '.join(given)[:200] or 'none'}; expected {expected}")
    return {tensor.name: _values(given[tensor.name], tensor) for tensor in model.inputs}


def _values(content: Any, tensor: Tensor) -> Any:
    values = numbers(content, tensor.name)
    if not tensor.accepts(values.shape):
        given = f"the input {tensor.name} has the shape {list(values.shape)}"
        raise RequestError(400, f"{given}; expected {list(tensor.shape)}, where -1 is any size")
    return convert(values, tensor.datatype, tensor.name)
