"""Responses of the Open Inference Protocol v2 and of the plain route."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from fastapi import Response
from pydantic_core import to_json

from slova.prediction import COLUMNS
from slova.serve.limits import Limits, RequestError
from slova.serve.model import DTYPES, Arrays, Model, Values
from slova.serve.requests import InferRequest

__all__ = ["VERSION", "check_size", "infer_response", "predict_response"]

VERSION = "1"  # a server has one model of one version
BYTES_PER_NUMBER = 24  # an upper bound in JSON
LOWEST = float(np.finfo(np.float32).min)


def check_size(request: InferRequest, rows: int, model: Model, limits: Limits) -> int:
    """The most bytes of a response, which may not be larger than a body: with many classes, few rows make many."""
    size = sum(
        rows * math.prod(each.shape[1:]) * (DTYPES[each.datatype].itemsize if binary else BYTES_PER_NUMBER)
        for each in model.outputs
        if (binary := request.outputs.get(each.name)) is not None
    )
    if size > limits.body:
        raise RequestError(413, f"the response would have {size} bytes; the limit is {limits.body}: send fewer rows")
    return size


def infer_response(request: InferRequest, answer: Arrays, model: Model) -> Response:
    """JSON, followed by the outputs that were requested as binary data."""
    types, outputs, data = {tensor.name: tensor.datatype for tensor in model.outputs}, [], b""
    for name, binary in request.outputs.items():
        values = np.ascontiguousarray(answer[name], DTYPES[types[name]])
        entry: dict[str, Any] = {"name": name, "datatype": types[name], "shape": list(values.shape)}
        outputs.append(entry)
        if binary:
            data += values.tobytes()
            entry["parameters"] = {"binary_data_size": values.nbytes}
        else:
            entry["data"] = json_values(values.ravel())
    named = {} if request.id is None else {"id": request.id}
    head = to_json({**named, "model_name": model.name, "model_version": VERSION, "outputs": outputs})
    if not data:
        return Response(head, media_type="application/json")
    size = {"Inference-Header-Content-Length": str(len(head))}
    return Response(head + data, media_type="application/octet-stream", headers=size)


def predict_response(answer: Arrays, model: Model) -> Response:
    """A list with one object per row."""
    labels = [model.label_name(label) for label in answer["label"].tolist()]
    columns = [json_values(answer[name].astype(np.float32)) for name in COLUMNS[1:]]
    rows = [dict(zip(COLUMNS, row, strict=True)) for row in zip(labels, *columns, strict=True)]
    return Response(to_json(rows), media_type="application/json")


def json_values(values: Values) -> list[Any]:
    """A flat array as JSON values: -inf becomes the lowest float32, whose exp is 0 as well, and NaN becomes null."""
    if values.dtype.kind != "f" or np.isfinite(values).all():
        return list(values.tolist())
    return [None if math.isnan(value) else value for value in np.clip(values, LOWEST, -LOWEST).tolist()]
