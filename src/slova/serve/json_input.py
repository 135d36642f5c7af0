"""Parse untrusted JSON: strict UTF-8, no NaN, no deep nesting, numbers where numbers are expected, and memory in
proportion to what the model takes, whatever is sent."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from pydantic_core import from_json

from slova.serve.limits import RequestError
from slova.serve.model import Model

__all__ = ["Counts", "as_object", "most_marks", "numbers", "parse_json", "reject_of"]

SLACK = 256  # lists, objects and strings of a request beside its rows
UNBOUNDED = 1 << 62


Counts = dict[bytes, tuple[str, int]]


def most_marks(model: Model, rows: int) -> Counts:
    """How many lists, objects, numbers and strings the JSON of so many rows has at most, by the mark of each. Names,
    shapes and parameters are few."""
    lists = sum(_size((rows, *tensor.shape[1:-1]), rows) for tensor in model.inputs)
    values = sum(_size((rows, *tensor.shape[1:]), rows) for tensor in model.inputs)
    return {
        b"[": ("lists", SLACK + lists),
        b"{": ("objects", SLACK + 2 * len(model.inputs)),
        b",": ("values", SLACK + values + lists),
        b'"': ("quotation marks", SLACK * (1 + len(model.inputs))),
    }


def _size(shape: tuple[int, ...], rows: int) -> int:
    """The number of cells, and of the lists around them; an axis of any size is bounded by the body only."""
    return UNBOUNDED if -1 in shape else rows + sum(math.prod(shape[: i + 1]) for i in range(len(shape)))


def parse_json(text: bytes | bytearray, most: Counts) -> Any:
    """The content of a body. Its marks are counted first, so that no more objects are made than a request can have."""
    for mark, (name, number) in most.items():
        if (found := text.count(mark)) > number:
            raise RequestError(400, f"the body has {found} {name}; a request has at most {number}")
    try:
        return from_json(text, allow_inf_nan=False)
    except ValueError as error:
        raise RequestError(400, f"the body is not JSON: {error}") from error


def as_object(value: Any, name: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise RequestError(400, f"{name} must be a JSON object")
    return value


def numbers(value: Any, name: str) -> np.ndarray[Any, Any]:
    """A list of finite numbers, or of such lists of equal lengths, as an array."""
    if not isinstance(value, list):
        raise RequestError(400, f"the input {name} must be a list of numbers")
    if _kinds(value) - {int, float, bool}:  # numpy would make an array of the longest text
        raise RequestError(400, f"the input {name} must contain numbers only")
    try:
        array = np.array(value)
    except (ValueError, OverflowError, RecursionError) as error:
        raise RequestError(400, f"the input {name} has lists of different lengths") from error
    if array.dtype.kind not in "biuf":
        raise RequestError(400, f"the input {name} must contain numbers only")
    if array.dtype.kind == "f" and np.isinf(array).any():
        raise RequestError(400, f"the input {name} has an infinite number")
    return array


def _kinds(value: list[Any]) -> set[type]:
    """The types of what is in a list, and in the lists in it."""
    kinds = set(map(type, value))
    if list in kinds:
        kinds = kinds - {list} | {kind for each in value if type(each) is list for kind in _kinds(each)}
    return kinds


def reject_of(fields: dict[str, Any], default: float) -> float:
    """The threshold `reject` of a request."""
    reject = fields.get("reject", default)
    if isinstance(reject, bool) or not isinstance(reject, int | float) or not 0 <= reject <= 1:
        raise RequestError(400, f"reject must be a number from 0 to 1, got {str(reject)[:40]!r}")
    return float(reject)
