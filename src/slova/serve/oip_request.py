"""Parse and validate a request of the Open Inference Protocol v2: JSON with tensors in it or as binary data after it.

Names, types, shapes and sizes are compared with the model and with the received bytes before memory is allocated.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from slova.serve.datatypes import DTYPES, HALF_TYPES, convert, from_bytes, item_size
from slova.serve.json_input import Counts, as_object, numbers, parse_json, reject_of
from slova.serve.limits import Limits, RequestError
from slova.serve.model import Arrays, Model, Tensor

__all__ = ["InferRequest", "OutputRequest", "check_rows", "parse_request"]

FIELDS = ("id", "parameters", "inputs", "outputs")


@dataclass(frozen=True)
class OutputRequest:
    """A requested output, and whether it is sent as binary data."""

    name: str
    binary: bool


@dataclass(frozen=True)
class InferRequest:
    """A validated request."""

    inputs: Arrays
    outputs: tuple[OutputRequest, ...]
    reject: float
    id: str | None = None


def parse_request(
    body: bytes | bytearray, model: Model, limits: Limits, most: Counts, *, head: str | None = None
) -> InferRequest:
    """Parse a body. `head` is the header Inference-Header-Content-Length, if present."""
    size = _head_size(head, len(body))
    content = as_object(parse_json(body[:size], most), "the request")
    _check_known(content, FIELDS, "field", "the request")
    parameters = _parameters(content, "the request", ("reject", "binary_data_output"))
    inputs = _inputs(_list(content, "inputs"), memoryview(body)[size:], model.inputs)
    check_rows(inputs, limits)
    default = parameters.get("binary_data_output") is True
    identity = content.get("id")
    if identity is not None and not isinstance(identity, str):
        raise RequestError(400, "the id of the request is not a string")
    return InferRequest(inputs, _outputs(content, model, default), reject_of(parameters, model.reject), identity)


def check_rows(inputs: Arrays, limits: Limits) -> int:
    """The number of rows, which must be the same in all inputs and within the limit."""
    found = {name: len(values) for name, values in inputs.items()}
    if len(set(found.values())) != 1:
        raise RequestError(400, f"the inputs have different numbers of rows: {found}")
    rows = next(iter(found.values()))
    if not 0 < rows <= limits.rows:
        raise RequestError(400, f"the request has {rows} rows; expected 1 to {limits.rows}")
    return rows


def _head_size(head: str | None, size: int) -> int:
    if head is None:
        return size
    if not (head.isascii() and head.isdigit() and len(head) < 20 and int(head) <= size):
        raise RequestError(400, f"Inference-Header-Content-Length is {head[:40]!r}, but the body has {size} bytes")
    return int(head)


def _inputs(entries: list[Any], data: memoryview, expected: Sequence[Tensor]) -> Arrays:
    tensors = {tensor.name: tensor for tensor in expected}
    found: Arrays = {}
    for one in entries:
        entry = as_object(one, "an input")
        name = entry.get("name")
        if not isinstance(name, str) or name not in tensors:
            raise RequestError(400, f"unknown input {str(name)[:80]!r}; the model expects {', '.join(tensors)}")
        if name in found:
            raise RequestError(400, f"the input {name} is given twice")
        found[name], data = _values(entry, data, tensors[name])
    if len(found) < len(tensors):
        raise RequestError(400, f"the input {', '.join(tensors.keys() - found.keys())} is missing")
    if data:
        raise RequestError(400, f"{len(data)} bytes remain after the inputs")
    return {name: found[name] for name in tensors}


def _values(entry: dict[str, Any], data: memoryview, tensor: Tensor) -> tuple[np.ndarray[Any, Any], memoryview]:
    """The values of an input, converted to its type, and the remaining binary data."""
    shape, datatype = _shape(entry, tensor), entry.get("datatype")
    if not isinstance(datatype, str) or datatype not in DTYPES | HALF_TYPES:
        raise RequestError(
            400, f"the input {tensor.name} has the datatype {str(datatype)[:40]!r}; expected {tensor.datatype}"
        )
    size = _parameters(entry, f"the input {tensor.name}", ("binary_data_size",)).get("binary_data_size")
    if size is None:
        values = numbers(entry.get("data"), tensor.name)
        _check_count(values.size, shape, tensor.name)
    else:
        values, data = _binary(data, size, shape, datatype, tensor.name)
    return convert(values.reshape(shape), tensor.datatype, tensor.name), data


def _shape(entry: dict[str, Any], tensor: Tensor) -> tuple[int, ...]:
    shape = entry.get("shape")
    if not isinstance(shape, list) or not all(type(size) is int for size in shape) or not tensor.accepts(shape):
        raise RequestError(
            400, f"the input {tensor.name} has the shape {str(shape)[:80]}; expected {list(tensor.shape)}"
        )
    return tuple(shape)


def _binary(
    data: memoryview, size: Any, shape: tuple[int, ...], datatype: str, name: str
) -> tuple[np.ndarray[Any, Any], memoryview]:
    if type(size) is not int or not 0 <= size <= len(data):
        raise RequestError(
            400, f"the input {name} has the binary_data_size {str(size)[:40]}; {len(data)} bytes are available"
        )
    if size % item_size(datatype):
        raise RequestError(400, f"the input {name} has {size} bytes, which is not a multiple of the size of {datatype}")
    _check_count(size // item_size(datatype), shape, name)
    return from_bytes(data[:size], datatype), data[size:]


def _check_count(count: int, shape: tuple[int, ...], name: str) -> None:
    if count != math.prod(shape):
        raise RequestError(
            400, f"the input {name} has {count} numbers; its shape {list(shape)} requires {math.prod(shape)}"
        )


def _outputs(content: dict[str, Any], model: Model, default: bool) -> tuple[OutputRequest, ...]:
    """The requested outputs, each once; all outputs by default."""
    known = [output.name for output in model.outputs]
    if not content.get("outputs"):
        return tuple(OutputRequest(name, default) for name in known)
    found = tuple(_output_requests(_list(content, "outputs"), known, default))
    if len({one.name for one in found}) < len(found):
        raise RequestError(400, "an output is requested twice")
    return found


def _output_requests(entries: list[Any], known: list[str], default: bool) -> Iterator[OutputRequest]:
    for one in entries:
        entry = as_object(one, "an output")
        name = entry.get("name")
        if name not in known:
            raise RequestError(400, f"unknown output {str(name)[:80]!r}; the model has {', '.join(known)}")
        parameters = _parameters(entry, f"the output {name}", ("binary_data",))
        yield OutputRequest(name, parameters.get("binary_data", default) is True)


def _parameters(content: dict[str, Any], owner: str, known: Sequence[str]) -> dict[str, Any]:
    parameters = as_object(content.get("parameters") or {}, f"the parameters of {owner}")
    _check_known(parameters, known, "parameter", owner)
    return parameters


def _check_known(content: dict[str, Any], known: Sequence[str], what: str, owner: str) -> None:
    """Unknown names are errors: a misspelt one would be ignored otherwise."""
    for name in content:
        if name not in known:
            raise RequestError(
                400, f"{owner} has the {what} {name[:80]}, which is not supported; expected {', '.join(known)}"
            )


def _list(content: dict[str, Any], name: str) -> list[Any]:
    if not isinstance(content.get(name), list) or not content[name]:
        raise RequestError(400, f"the request has no list of {name}")
    return list(content[name])
