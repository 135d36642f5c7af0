"""The numeric data types of the Open Inference Protocol, and conversion to the type of a model input."""

from __future__ import annotations

from typing import Any

import numpy as np

from slova.serve.limits import RequestError

__all__ = ["DTYPES", "convert", "from_bytes", "item_size"]

Values = np.ndarray[Any, Any]

DTYPES = {
    "BOOL": np.dtype("?"),
    "UINT8": np.dtype("<u1"),
    "UINT16": np.dtype("<u2"),
    "UINT32": np.dtype("<u4"),
    "UINT64": np.dtype("<u8"),
    "INT8": np.dtype("<i1"),
    "INT16": np.dtype("<i2"),
    "INT32": np.dtype("<i4"),
    "INT64": np.dtype("<i8"),
    "FP16": np.dtype("<f2"),
    "FP32": np.dtype("<f4"),
    "FP64": np.dtype("<f8"),
}
HALF_TYPES = {"BF16": np.dtype("<u2")}  # the upper half of float32, not a numpy type


def item_size(datatype: str) -> int:
    return (DTYPES | HALF_TYPES)[datatype].itemsize


def from_bytes(raw: bytes | memoryview, datatype: str) -> Values:
    """The flat values of a binary tensor."""
    if datatype in HALF_TYPES:
        halves = np.frombuffer(raw, HALF_TYPES[datatype])
        return np.asarray((halves.astype("<u4") << 16).view("<f4"))
    if datatype == "BOOL":
        return np.frombuffer(raw, np.uint8).astype(bool)
    return np.frombuffer(raw, DTYPES[datatype])


def convert(values: Values, datatype: str, name: str) -> Values:
    """The values as `datatype`. NaN, lossy kinds and values out of range are errors."""
    target = DTYPES[datatype]
    if values.dtype.kind not in "biuf":
        raise RequestError(400, f"the input {name} must contain numbers only")
    if values.dtype.kind == "f" and np.isnan(values).any():
        raise RequestError(400, f"the input {name} has NaN in row {_first(np.isnan(values))}")
    if not _fits(values.dtype, target):
        raise RequestError(400, f"the input {name} has the type {values.dtype}; the model expects {datatype}")
    with np.errstate(over="ignore"):
        result = values.astype(target)
    lost = np.isinf(result) & np.isfinite(values) if target.kind == "f" else result != values
    if lost.any():
        raise RequestError(400, f"the input {name} has a value out of the range of {datatype} in row {_first(lost)}")
    return result


def _fits(given: np.dtype[Any], target: np.dtype[Any]) -> bool:
    """Any number can be a float, only integers and bools an integer, only bools a bool."""
    return target.kind == "f" or given.kind == "b" or (given.kind in "iu" and target.kind in "iu")


def _first(flags: Values) -> int:
    return int(flags.reshape(len(flags), -1).any(axis=1).argmax())
