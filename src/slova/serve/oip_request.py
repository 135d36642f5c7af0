"""A request of the Open Inference Protocol v2, checked: JSON, with tensors in it or as binary data behind it.

Nothing is believed: names, types, shapes and sizes are compared with the model and with the bytes that came, before
any memory is taken for them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from slova.serve.datatypes import DTYPES, HALVES, converted, from_bytes, item_size
from slova.serve.json_input import fields, numbers, parsed, share
from slova.serve.limits import Limits, Refused
from slova.serve.model import Arrays, Model, Tensor

__all__ = ["Asked", "Query", "query", "rows_of"]

UNKNOWN = ("shared_memory_region", "classification")  # what a parameter asks for that is not served


@dataclass(frozen=True)
class Asked:
    """An output, and whether it is sent as binary data."""

    name: str
    binary: bool


@dataclass(frozen=True)
class Query:
    inputs: Arrays
    outputs: tuple[Asked, ...]
    reject: float
    id: str | None = None


def query(body: bytes, head: str | None, model: Model, limits: Limits) -> Query:
    """What the body asks of the model; `head` is the header Inference-Header-Content-Length, where there is one."""
    size = _head_size(head, len(body))
    said = fields(parsed(body[:size]), "the request")
    parameters = _parameters(said, "the request")
    inputs = _inputs(_list(said, "inputs"), memoryview(body)[size:], model.inputs)
    rows_of(inputs, limits)
    default = parameters.get("binary_data_output") is True
    identity = said.get("id")
    if identity is not None and not isinstance(identity, str):
        raise Refused(400, "the id of the request is not a string")
    return Query(inputs, _outputs(said, model, default), share(parameters, model.reject), identity)


def rows_of(inputs: Arrays, limits: Limits) -> int:
    """How many rows there are, the same in all inputs and within the limit."""
    found = {name: len(values) for name, values in inputs.items()}
    if len(set(found.values())) != 1:
        raise Refused(400, f"the inputs have different numbers of rows: {found}")
    rows = next(iter(found.values()))
    if not 0 < rows <= limits.rows:
        raise Refused(400, f"the request has {rows} rows; wanted 1 to {limits.rows}")
    return rows


def _head_size(head: str | None, size: int) -> int:
    if head is None:
        return size
    if not (head.isascii() and head.isdigit() and len(head) < 20 and int(head) <= size):
        raise Refused(400, f"Inference-Header-Content-Length is {head[:40]!r}, and the body has {size} bytes")
    return int(head)


def _inputs(said: list[Any], data: memoryview, wanted: Sequence[Tensor]) -> Arrays:
    tensors = {tensor.name: tensor for tensor in wanted}
    found: Arrays = {}
    for one in said:
        entry = fields(one, "an input")
        name = entry.get("name")
        if not isinstance(name, str) or name not in tensors:
            raise Refused(400, f"there is no input {str(name)[:80]!r}; the model takes {', '.join(tensors)}")
        if name in found:
            raise Refused(400, f"the input {name} is given twice")
        found[name], data = _values(entry, data, tensors[name])
    if len(found) < len(tensors):
        raise Refused(400, f"the input {', '.join(tensors.keys() - found.keys())} is missing")
    if data:
        raise Refused(400, f"{len(data)} bytes are left over behind the inputs")
    return {name: found[name] for name in tensors}


def _values(entry: dict[str, Any], data: memoryview, wanted: Tensor) -> tuple[np.ndarray[Any, Any], memoryview]:
    """The numbers of an input, as the model takes them, and the binary data that are left for the next ones."""
    shape, datatype = _shape(entry, wanted), entry.get("datatype")
    if not isinstance(datatype, str) or datatype not in DTYPES | HALVES:
        raise Refused(400, f"the input {wanted.name} has the datatype {str(datatype)[:40]!r}; wanted {wanted.datatype}")
    size = _parameters(entry, f"the input {wanted.name}").get("binary_data_size")
    if size is None:
        values = numbers(entry.get("data"), wanted.name)
        _check_count(values.size, shape, wanted.name)
    else:
        values, data = _binary(data, size, shape, datatype, wanted.name)
    return converted(values.reshape(shape), wanted.datatype, wanted.name), data


def _shape(entry: dict[str, Any], wanted: Tensor) -> tuple[int, ...]:
    shape = entry.get("shape")
    if not isinstance(shape, list) or not all(type(size) is int for size in shape) or not wanted.takes(shape):
        raise Refused(400, f"the input {wanted.name} has the shape {str(shape)[:80]}; wanted {list(wanted.shape)}")
    return tuple(shape)


def _binary(
    data: memoryview, size: Any, shape: tuple[int, ...], datatype: str, name: str
) -> tuple[np.ndarray[Any, Any], memoryview]:
    if type(size) is not int or not 0 <= size <= len(data):
        raise Refused(400, f"the input {name} has the binary_data_size {str(size)[:40]}; {len(data)} bytes are there")
    if size % item_size(datatype):
        raise Refused(400, f"the input {name} has {size} bytes, which are no whole number of {datatype}")
    _check_count(size // item_size(datatype), shape, name)
    return from_bytes(data[:size], datatype), data[size:]


def _check_count(count: int, shape: tuple[int, ...], name: str) -> None:
    if count != math.prod(shape):
        raise Refused(400, f"the input {name} has {count} numbers; its shape {list(shape)} wants {math.prod(shape)}")


def _outputs(said: dict[str, Any], model: Model, default: bool) -> tuple[Asked, ...]:
    """Those that are asked for, each once; all of them if none is."""
    known = [output.name for output in model.outputs]
    if not said.get("outputs"):
        return tuple(Asked(name, default) for name in known)
    found = tuple(_asked(_list(said, "outputs"), known, default))
    if len({one.name for one in found}) < len(found):
        raise Refused(400, "an output is asked for twice")
    return found


def _asked(said: list[Any], known: list[str], default: bool) -> Iterator[Asked]:
    for one in said:
        entry = fields(one, "an output")
        name = entry.get("name")
        if name not in known:
            raise Refused(400, f"there is no output {str(name)[:80]!r}; the model gives {', '.join(known)}")
        yield Asked(name, _parameters(entry, f"the output {name}").get("binary_data", default) is True)


def _parameters(said: dict[str, Any], whose: str) -> dict[str, Any]:
    parameters = fields(said.get("parameters") or {}, f"the parameters of {whose}")
    for name in UNKNOWN:
        if name in parameters:
            raise Refused(400, f"{whose} has the parameter {name}, which is not served")
    return parameters


def _list(said: dict[str, Any], name: str) -> list[Any]:
    if not isinstance(said.get(name), list) or not said[name]:
        raise Refused(400, f"the request has no list of {name}")
    return list(said[name])
