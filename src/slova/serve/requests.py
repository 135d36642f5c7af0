"""Requests, parsed and validated: rows of the plain route, and tensors of the Open Inference Protocol v2, in the JSON
or as binary data after it.

JSON is strict, and no more of it is parsed than the model takes. Sizes are compared with the received bytes before
memory is allocated. Unknown names are errors: a misspelt `reject` would be ignored otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
from pydantic import BaseModel, ConfigDict, FailFast, Field, NonNegativeInt

from slova.serve.bodies import Counts, most_marks, numbers, parse_json
from slova.serve.limits import Limits, RequestError
from slova.serve.model import DTYPES, Arrays, Model, Tensor, Values

__all__ = ["Counts", "Infer", "InferRequest", "Predict", "check_rows", "most_marks", "parse_infer", "parse_predict"]

WIRE = DTYPES | {"BF16": np.dtype("<u2")}  # the upper half of float32, not a numpy type
Share = Annotated[float, Field(ge=0, le=1)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class Predict(_Strict):
    """Rows of numbers; for a model with several inputs an object with the rows of each."""

    inputs: list[Any] | dict[str, list[Any]]
    reject: Share = Field(-1.0, json_schema_extra=lambda schema: schema.update(default="that of the model"))


class InputParameters(_Strict):
    binary_data_size: NonNegativeInt | None = None


class Input(_Strict):
    """Numbers in `data`, flat or nested; or `binary_data_size` bytes after the JSON."""

    name: str
    shape: Annotated[list[NonNegativeInt], FailFast()]
    datatype: Literal[tuple(WIRE)]  # type: ignore[valid-type]
    data: list[Any] | None = None
    parameters: InputParameters | None = None


class OutputParameters(_Strict):
    binary_data: bool | None = None


class Output(_Strict):
    name: str
    parameters: OutputParameters | None = None


class Parameters(_Strict):
    reject: Share | None = None
    binary_data_output: bool = False


class Infer(_Strict):
    id: str | None = None
    parameters: Parameters | None = None
    inputs: Annotated[list[Input], FailFast()]
    outputs: Annotated[list[Output], FailFast()] = Field(default=[])


class InferRequest(NamedTuple):
    """A valid request: its inputs, and whether each requested output is sent as binary data."""

    inputs: Arrays
    outputs: dict[str, bool]
    reject: float
    id: str | None = None


def parse_predict(body: bytes | bytearray, model: Model, limits: Limits, most: Counts) -> tuple[Arrays, float]:
    """The inputs and the threshold of a request of the plain route."""
    content, arrays = parse_json(body, most, Predict)
    given = content.inputs if isinstance(content.inputs, dict) else {model.inputs[0].name: content.inputs}
    _check_names(list(given), model.inputs)
    inputs = {
        tensor.name: _converted(numbers(given[tensor.name], tensor.name, arrays), tensor) for tensor in model.inputs
    }
    check_rows(inputs, limits)
    return inputs, model.reject if content.reject < 0 else content.reject


def parse_infer(
    body: bytes | bytearray, model: Model, limits: Limits, most: Counts, *, head: str | None = None
) -> InferRequest:
    """A request of the protocol. `head` is the header Inference-Header-Content-Length, if present."""
    size = _head_size(head, len(body))
    content, arrays = parse_json(body if size == len(body) else body[:size], most, Infer, b'"data"')
    parameters = content.parameters or Parameters()
    inputs = _inputs(content.inputs, arrays, memoryview(body)[size:], model.inputs)
    check_rows(inputs, limits)
    outputs = _outputs(content.outputs, model, parameters.binary_data_output)
    return InferRequest(inputs, outputs, model.reject if parameters.reject is None else parameters.reject, content.id)


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


def _check_names(given: list[str], expected: Sequence[Tensor]) -> None:
    """Each input is given once."""
    if sorted(given) != sorted(names := [tensor.name for tensor in expected]):
        raise RequestError(400, f"the inputs are {', '.join(given)[:200] or 'none'}; expected {', '.join(names)}")


def _inputs(entries: list[Input], arrays: Arrays, data: memoryview, expected: Sequence[Tensor]) -> Arrays:
    """The values of all inputs; binary data follow each other in the order of the entries."""
    _check_names([entry.name for entry in entries], expected)
    tensors, found = {tensor.name: tensor for tensor in expected}, {}
    for entry in entries:
        _check_shape(entry.shape, tensors[entry.name])
        size = entry.parameters.binary_data_size if entry.parameters else None
        if size is None:
            values = numbers(entry.data, entry.name, arrays)
        else:
            if size > len(data) or size % WIRE[entry.datatype].itemsize:
                wrong = f"has the binary_data_size {size}; {len(data)} bytes are available"
                raise RequestError(400, f"the input {entry.name} {wrong}, in multiples of the size of {entry.datatype}")
            values, data = _from_bytes(data[:size], entry.datatype), data[size:]
        if values.size != (count := math.prod(entry.shape)):
            wrong = f"has {values.size} numbers; its shape {entry.shape} requires {count}"
            raise RequestError(400, f"the input {entry.name} {wrong}")
        found[entry.name] = _converted(values.reshape(entry.shape), tensors[entry.name])
    if data:
        raise RequestError(400, f"{len(data)} bytes remain after the inputs")
    return {name: found[name] for name in tensors}


def _outputs(entries: list[Output], model: Model, default: bool) -> dict[str, bool]:
    """The requested outputs, each once; all outputs by default."""
    known = [output.name for output in model.outputs]
    if not entries:
        return dict.fromkeys(known, default)
    found = {entry.name: entry.parameters.binary_data if entry.parameters else None for entry in entries}
    if len(found) < len(entries) or not found.keys() <= set(known):
        given = ", ".join(entry.name for entry in entries)[:200]
        raise RequestError(400, f"the outputs are {given}; expected some of {', '.join(known)}, each once")
    return {name: default if binary is None else binary for name, binary in found.items()}


def _from_bytes(raw: memoryview, datatype: str) -> Values:
    """The flat values of a binary tensor."""
    if datatype == "BOOL":
        return np.frombuffer(raw, np.uint8).astype(bool)
    values = np.frombuffer(raw, WIRE[datatype])
    return (values.astype("<u4") << 16).view("<f4") if datatype == "BF16" else values


def _check_shape(shape: Sequence[int], tensor: Tensor) -> None:
    if not tensor.accepts(shape):
        wrong = f"has the shape {str(list(shape))[:80]}; expected {list(tensor.shape)}, where -1 is any size"
        raise RequestError(400, f"the input {tensor.name} {wrong}")


def _converted(values: Values, tensor: Tensor) -> Values:
    """The values as the input of the model. Another shape, NaN, lossy kinds and values out of range are errors."""
    given, target, name = values.dtype, DTYPES[tensor.datatype], tensor.name
    _check_shape(values.shape, tensor)
    if given.kind == "f" and (lost := np.isnan(values)).any():
        raise RequestError(400, f"the input {name} has NaN in row {_first(lost)}")
    # any number can be a float, only integers and bools an integer, only bools a bool
    if not (target.kind == "f" or given.kind == "b" or (given.kind in "iu" and target.kind in "iu")):
        raise RequestError(400, f"the input {name} has the type {given}; the model expects {tensor.datatype}")
    with np.errstate(over="ignore"):
        result = values.astype(target)
    lost = np.isinf(result) & np.isfinite(values) if target.kind == "f" else result != values
    if lost.any():
        wrong = f"has a value out of the range of {tensor.datatype} in row {_first(lost)}"
        raise RequestError(400, f"the input {name} {wrong}")
    return result


def _first(flags: Values) -> int:
    return int(flags.reshape(len(flags), -1).any(axis=1).argmax())
