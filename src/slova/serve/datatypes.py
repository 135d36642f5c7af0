"""The number types of the Open Inference Protocol, and numbers brought to the type that a model takes."""

from __future__ import annotations

from typing import Any

import numpy as np

from slova.serve.limits import Refused

__all__ = ["DTYPES", "converted", "from_bytes", "item_size"]

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
HALVES = {"BF16": np.dtype("<u2")}  # the upper halves of float32, which numpy does not know


def item_size(datatype: str) -> int:
    return (DTYPES | HALVES)[datatype].itemsize


def from_bytes(raw: bytes | memoryview, datatype: str) -> Values:
    """The numbers of a binary tensor, flat."""
    if datatype in HALVES:
        halves = np.frombuffer(raw, HALVES[datatype])
        return np.asarray((halves.astype("<u4") << 16).view("<f4"))
    if datatype == "BOOL":
        return np.frombuffer(raw, np.uint8).astype(bool)
    return np.frombuffer(raw, DTYPES[datatype])


def converted(values: Values, datatype: str, name: str) -> Values:
    """The values as `datatype`, if they are numbers of a kind that fits and lie in its range; never NaN."""
    wanted = DTYPES[datatype]
    if values.dtype.kind not in "biuf":
        raise Refused(400, f"the input {name} holds something else than numbers")
    if values.dtype.kind == "f" and np.isnan(values).any():
        raise Refused(400, f"the input {name} has NaN in row {_first(np.isnan(values))}")
    if not _fits(values.dtype, wanted):
        raise Refused(400, f"the input {name} has numbers of type {values.dtype}; the model takes {datatype}")
    with np.errstate(over="ignore"):
        result = values.astype(wanted)
    lost = np.isinf(result) & np.isfinite(values) if wanted.kind == "f" else result != values
    if lost.any():
        raise Refused(400, f"the input {name} has a number beyond the range of {datatype} in row {_first(lost)}")
    return result


def _fits(given: np.dtype[Any], wanted: np.dtype[Any]) -> bool:
    """Any number is a float, whole numbers are integers, and only bools are bools."""
    return wanted.kind == "f" or given.kind == "b" or (given.kind in "iu" and wanted.kind in "iu")


def _first(flags: Values) -> int:
    return int(flags.reshape(len(flags), -1).any(axis=1).argmax())
