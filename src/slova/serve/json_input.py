"""Parse untrusted JSON: strict UTF-8, no NaN, no deep nesting, numbers where numbers are expected."""

from __future__ import annotations

import json
from typing import Any, NoReturn

import numpy as np

from slova.serve.limits import RequestError

__all__ = ["as_object", "numbers", "parse_json", "reject_of"]


def parse_json(text: bytes) -> Any:
    try:
        return json.loads(text.decode(), parse_constant=_constant)
    except RecursionError as error:
        raise RequestError(400, "the body is nested too deeply") from error
    except UnicodeDecodeError as error:
        raise RequestError(400, "the body is not UTF-8") from error
    except ValueError as error:
        raise RequestError(400, f"the body is not JSON: {error}") from error


def _constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number")


def as_object(value: Any, name: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise RequestError(400, f"{name} must be a JSON object")
    return value


def numbers(value: Any, name: str) -> np.ndarray[Any, Any]:
    """A list of finite numbers, or of such lists of equal lengths, as an array."""
    if not isinstance(value, list):
        raise RequestError(400, f"the input {name} must be a list of numbers")
    try:
        array = np.array(value)
    except (ValueError, OverflowError, RecursionError) as error:
        raise RequestError(400, f"the input {name} has lists of different lengths") from error
    if array.dtype.kind not in "biuf":
        raise RequestError(400, f"the input {name} must contain numbers only")
    if array.dtype.kind == "f" and np.isinf(array).any():
        raise RequestError(400, f"the input {name} has an infinite number")
    return array


def reject_of(fields: dict[str, Any], default: float) -> float:
    """The threshold `reject` of a request."""
    reject = fields.get("reject", default)
    if isinstance(reject, bool) or not isinstance(reject, int | float) or not 0 <= reject <= 1:
        raise RequestError(400, f"reject must be a number from 0 to 1, got {str(reject)[:40]!r}")
    return float(reject)
