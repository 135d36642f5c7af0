"""The plain routes: rows of numbers in, a list of answers out; and the metrics."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI, Request, Response

from slova.serve import schema
from slova.serve.datatypes import converted
from slova.serve.json_input import fields, numbers, parsed, share
from slova.serve.limits import Refused
from slova.serve.model import Arrays, Model, Tensor
from slova.serve.oip_request import rows_of
from slova.serve.responses import plain
from slova.serve.service import Service

__all__ = ["add_plain"]

KNOWN = ("inputs", "reject")
WANTED = ("label", "confidence", "none", "several")


def add_plain(app: FastAPI, service: Service) -> None:
    model = service.model

    @app.get("/predict", summary="What the model takes", tags=["plain"])
    async def description() -> dict[str, Any]:
        return model.described()

    @app.post("/predict", summary="An answer for each row", tags=["plain"], **schema.PREDICT)
    async def predict(request: Request) -> Response:
        with service.admission.enter() as ticket:
            said = fields(parsed(await service.body(request, ticket)), "the request")
            _check_known(said)
            inputs, reject = _inputs(said.get("inputs"), model), share(said, model.reject)
            rows_of(inputs, service.limits)
            return plain(await service.answer(request, inputs, WANTED, reject), model)

    @app.get("/metrics", summary="Prometheus metrics", tags=["health"])
    async def metrics() -> Response:
        return Response(service.measures.page(), media_type="text/plain; version=0.0.4; charset=utf-8")


def _check_known(said: dict[str, Any]) -> None:
    """A misspelt `reject` would leave the threshold as it is, unnoticed."""
    unknown = [key for key in said if key not in KNOWN]
    if unknown:
        raise Refused(400, f"the request has {', '.join(unknown)[:200]}; known are {' and '.join(KNOWN)}")


def _inputs(said: Any, model: Model) -> Arrays:
    """Rows for the only input, or an object with the rows of each."""
    if len(model.inputs) == 1 and not isinstance(said, dict):
        said = {model.inputs[0].name: said}
    given = fields(said, "inputs, of a model that takes several,")
    if given.keys() != {tensor.name for tensor in model.inputs}:
        wanted = ", ".join(tensor.name for tensor in model.inputs)
        raise Refused(400, f"the inputs are {', '.join(given)[:200] or 'none'}; wanted {wanted}")
    return {tensor.name: _values(given[tensor.name], tensor) for tensor in model.inputs}


def _values(said: Any, wanted: Tensor) -> Any:
    values = numbers(said, wanted.name)
    if not wanted.takes(values.shape):
        given = f"the input {wanted.name} has the shape {list(values.shape)}"
        raise Refused(400, f"{given}; wanted {list(wanted.shape)}, where -1 is any number")
    return converted(values, wanted.datatype, wanted.name)
