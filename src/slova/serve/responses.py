"""Answers in the Open Inference Protocol v2, and in the plain form."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
from fastapi import Response

from slova.serve.datatypes import DTYPES
from slova.serve.limits import Limits, Refused
from slova.serve.model import Arrays, Model
from slova.serve.oip_request import Query

__all__ = ["VERSION", "check_size", "plain", "reply"]

VERSION = "1"  # a server has one model, and the model one version
DIGITS = 24  # bytes of a number in JSON, at most
LEAST = float(np.finfo(np.float32).min)


def check_size(query: Query, rows: int, model: Model, limits: Limits) -> None:
    """An answer is held to the same size as a body: few rows can be asked about many classes."""
    tensors = {tensor.name: tensor for tensor in model.outputs}
    size = sum(
        rows * math.prod(tensors[asked.name].shape[1:])
        * (DTYPES[tensors[asked.name].datatype].itemsize if asked.binary else DIGITS)
        for asked in query.outputs
    )  # fmt: skip
    if size > limits.body:
        raise Refused(413, f"the answer would have {size} bytes, and the limit is {limits.body}: ask for fewer rows")


def reply(query: Query, answer: Arrays, model: Model) -> Response:
    """JSON, with the outputs that are wanted as binary data behind it."""
    outputs, data = [], []
    for tensor in (tensor for asked in query.outputs for tensor in model.outputs if tensor.name == asked.name):
        values = np.ascontiguousarray(answer[tensor.name], DTYPES[tensor.datatype])
        entry: dict[str, Any] = {"name": tensor.name, "datatype": tensor.datatype, "shape": list(values.shape)}
        if next(asked.binary for asked in query.outputs if asked.name == tensor.name):
            data.append(values.tobytes())
            entry["parameters"] = {"binary_data_size": len(data[-1])}
        else:
            entry["data"] = written(values.ravel())
        outputs.append(entry)
    said = {"model_name": model.name, "model_version": VERSION, "outputs": outputs}
    return _response(said if query.id is None else {"id": query.id, **said}, data)


def _response(said: dict[str, Any], data: list[bytes]) -> Response:
    head = _json(said)
    if not data:
        return Response(head, media_type="application/json")
    size = {"Inference-Header-Content-Length": str(len(head))}
    return Response(b"".join([head, *data]), media_type="application/octet-stream", headers=size)


def plain(answer: Arrays, model: Model) -> Response:
    """A list with an object for each row."""
    labels = [model.spoken(label) for label in answer["label"].tolist()]
    columns = [written(answer[name].astype(np.float32)) for name in ("confidence", "none", "several")]
    rows = [
        {"label": label, "confidence": confidence, "none": none, "several": several}
        for label, confidence, none, several in zip(labels, *columns, strict=True)
    ]
    return Response(_json(rows), media_type="application/json")


def written(values: np.ndarray[Any, Any]) -> list[Any]:
    """A flat array as JSON has it: -inf becomes the least float32, whose exp is 0 as well, and NaN null."""
    if values.dtype.kind != "f" or np.isfinite(values).all():
        return list(values.tolist())
    return [None if math.isnan(value) else value for value in np.clip(values, LEAST, -LEAST).tolist()]


def _json(said: Any) -> bytes:
    return json.dumps(said, separators=(",", ":"), allow_nan=False).encode()
