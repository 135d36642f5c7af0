"""Responses of the Open Inference Protocol v2 and of the plain route."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from fastapi import Response
from pydantic_core import to_json

from slova.prediction import COLUMNS
from slova.serve.datatypes import DTYPES
from slova.serve.limits import Limits, RequestError
from slova.serve.model import Arrays, Model
from slova.serve.oip_request import InferRequest

__all__ = ["VERSION", "check_size", "oip_response", "plain_response"]

VERSION = "1"  # a server has one model of one version
BYTES_PER_NUMBER = 24  # an upper bound in JSON
LOWEST = float(np.finfo(np.float32).min)


def check_size(request: InferRequest, rows: int, model: Model, limits: Limits) -> None:
    """A response may not be larger than a body: with many classes, few rows make a large response."""
    tensors = {tensor.name: tensor for tensor in model.outputs}
    size = sum(
        rows * math.prod(tensors[output.name].shape[1:])
        * (DTYPES[tensors[output.name].datatype].itemsize if output.binary else BYTES_PER_NUMBER)
        for output in request.outputs
    )  # fmt: skip
    if size > limits.body:
        raise RequestError(413, f"the response would have {size} bytes; the limit is {limits.body}: send fewer rows")


def oip_response(request: InferRequest, answer: Arrays, model: Model) -> Response:
    """JSON, followed by the outputs that were requested as binary data."""
    outputs, data = [], []
    for tensor in (tensor for output in request.outputs for tensor in model.outputs if tensor.name == output.name):
        values = np.ascontiguousarray(answer[tensor.name], DTYPES[tensor.datatype])
        entry: dict[str, Any] = {"name": tensor.name, "datatype": tensor.datatype, "shape": list(values.shape)}
        if next(output.binary for output in request.outputs if output.name == tensor.name):
            data.append(values.tobytes())
            entry["parameters"] = {"binary_data_size": len(data[-1])}
        else:
            entry["data"] = json_values(values.ravel())
        outputs.append(entry)
    content = {"model_name": model.name, "model_version": VERSION, "outputs": outputs}
    return _response(content if request.id is None else {"id": request.id, **content}, data)


def _response(content: dict[str, Any], data: list[bytes]) -> Response:
    head = to_json(content)
    if not data:
        return Response(head, media_type="application/json")
    size = {"Inference-Header-Content-Length": str(len(head))}
    return Response(b"".join([head, *data]), media_type="application/octet-stream", headers=size)


def plain_response(answer: Arrays, model: Model) -> Response:
    """A list with one object per row."""
    labels = [model.label_name(label) for label in answer["label"].tolist()]
    columns = [json_values(answer[name].astype(np.float32)) for name in COLUMNS[1:]]
    rows = [dict(zip(COLUMNS, row, strict=True)) for row in zip(labels, *columns, strict=True)]
    return Response(to_json(rows), media_type="application/json")


def json_values(values: np.ndarray[Any, Any]) -> list[Any]:
    """A flat array as JSON values: -inf becomes the lowest float32, whose exp is 0 as well, and NaN becomes null."""
    if values.dtype.kind != "f" or np.isfinite(values).all():
        return list(values.tolist())
    return [None if math.isnan(value) else value for value in np.clip(values, LOWEST, -LOWEST).tolist()]
