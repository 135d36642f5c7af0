"""The JSON of a request, and the arrays of numbers in it.

It is strict, and no more of it is parsed than the model takes. Large texts are parsed in pieces.
"""

from __future__ import annotations

import math
from typing import Any, TypeVar

import numpy as np
from pydantic import BaseModel, ValidationError
from pydantic_core import from_json

from slova.serve.limits import SMALL, RequestError
from slova.serve.model import Arrays, Model, Values
from slova.serve.pieces import Short, shorten

__all__ = ["Counts", "most_marks", "numbers", "parse_json"]

SLACK = 256  # lists, objects and strings of a request beside its rows
UNBOUNDED = 1 << 62
REST = 256 << 10  # bytes of a text beside its arrays of numbers, which are parsed at once
COUNTED = 1 << 20  # bytes whose marks are counted at once
Counts = dict[bytes, tuple[str, int]]
Body = TypeVar("Body", bound=BaseModel)


def most_marks(model: Model, rows: int) -> Counts:
    """How many lists, objects, numbers and strings the JSON of so many rows has at most, by the mark of each. Names,
    shapes and parameters are few."""
    lists = sum(_cells((rows, *tensor.shape[1:-1])) for tensor in model.inputs)
    values = sum(_cells((rows, *tensor.shape[1:])) for tensor in model.inputs)
    return {
        b"[": ("lists", SLACK + lists),
        b"{": ("objects", SLACK + 2 * len(model.inputs)),
        b",": ("values", SLACK + values + lists),
        b'"': ("quotation marks", SLACK * (1 + len(model.inputs))),
    }


def _cells(shape: tuple[int, ...]) -> int:
    """The number of cells, and of the lists around them; an axis of any size is bounded by the body only."""
    return UNBOUNDED if -1 in shape else shape[0] + sum(math.prod(shape[: i + 1]) for i in range(len(shape)))


def parse_json(text: bytes | bytearray, most: Counts, kind: type[Body], key: bytes = b"") -> tuple[Body, Arrays]:
    """The content of a body, and arrays that it names in place of long lists of numbers: those that are the value of a
    key, or of this key. Marks are counted first, so that no more objects are made than a request can have."""
    for mark, (name, number) in most.items():
        if (found := _count(text, mark)) > number:
            raise RequestError(400, f"the body has {found} {name}; a request has at most {number}")
    short = shorten(text, key, SMALL) if len(text) > SMALL else Short(text, [text])
    if short.size > REST:
        raise RequestError(400, f"the body has {short.size} bytes beside its arrays of numbers; the limit is {REST}")
    try:
        return kind.model_validate(from_json(short.rest(), allow_inf_nan=False)), short.arrays
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"])) or "the request"
        raise RequestError(400, f"{place[:200]}: {first['msg'][:300]}") from error
    except ValueError as error:
        raise RequestError(400, f"the body is not JSON: {short.located(str(error))}") from error


def _count(text: bytes | bytearray, mark: bytes) -> int:
    if len(text) <= COUNTED:
        return text.count(mark)
    return sum(text.count(mark, start, start + COUNTED) for start in range(0, len(text), COUNTED))


def numbers(value: Any, name: str, arrays: Arrays) -> Values:
    """A list of finite numbers, or of such lists of equal lengths, as an array; or the array that the list names."""
    if not isinstance(value, list):
        raise RequestError(400, f"the input {name} must be a list of numbers")
    named = arrays.get(value[0]) if len(value) == 1 and isinstance(value[0], str) else None
    array = _array(value, name) if named is None else named
    if array.dtype.kind == "f" and np.isinf(array).any():
        raise RequestError(400, f"the input {name} has an infinite number")
    return array


def _array(value: list[Any], name: str) -> Values:
    if _kinds(value) - {int, float, bool}:  # numpy would make an array of the longest text
        raise RequestError(400, f"the input {name} must contain numbers only")
    try:
        array = np.array(value)
    except (ValueError, OverflowError, RecursionError) as error:
        raise RequestError(400, f"the input {name} has lists of different lengths") from error
    if array.dtype.kind not in "biuf":
        raise RequestError(400, f"the input {name} must contain numbers only")
    return array


def _kinds(value: list[Any]) -> set[type]:
    """The types of what is in a list, and in the lists in it."""
    kinds = set(map(type, value))
    if list in kinds:
        kinds = kinds - {list} | {kind for each in value if type(each) is list for kind in _kinds(each)}
    return kinds
