"""JSON from strangers: strict UTF-8, no NaN, no endless nesting, and numbers where numbers are wanted."""

from __future__ import annotations

import json
from typing import Any, NoReturn

import numpy as np

from slova.serve.limits import Refused

__all__ = ["fields", "numbers", "parsed", "share"]


def parsed(text: bytes) -> Any:
    try:
        return json.loads(text.decode(), parse_constant=_constant)
    except RecursionError as error:
        raise Refused(400, "the body is nested too deeply") from error
    except UnicodeDecodeError as error:
        raise Refused(400, "the body is not UTF-8") from error
    except ValueError as error:
        raise Refused(400, f"the body is not JSON: {error}") from error


def _constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number")


def fields(value: Any, whose: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise Refused(400, f"{whose} is not a JSON object")
    return value


def numbers(value: Any, name: str) -> np.ndarray[Any, Any]:
    """A list of numbers, or of such lists of equal lengths; all of them finite."""
    if not isinstance(value, list):
        raise Refused(400, f"the input {name} has no list of numbers")
    try:
        array = np.array(value)
    except (ValueError, OverflowError, RecursionError) as error:
        raise Refused(400, f"the input {name} has lists of different lengths") from error
    if array.dtype.kind not in "biuf":
        raise Refused(400, f"the input {name} holds something else than numbers")
    if array.dtype.kind == "f" and np.isinf(array).any():
        raise Refused(400, f"the input {name} has an infinite number")
    return array


def share(said: dict[str, Any], default: float) -> float:
    """The threshold `reject` that a request asks for."""
    reject = said.get("reject", default)
    if isinstance(reject, bool) or not isinstance(reject, int | float) or not 0 <= reject <= 1:
        raise Refused(400, f"reject is {str(reject)[:40]!r}; wanted a number from 0 to 1")
    return float(reject)
