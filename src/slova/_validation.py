"""What public functions accept: every check of arrays and numbers, made once, at the public call.

Rows of probabilities may sum to less or to more than one and are never renormalised. For metrics, a value that
rounding put up to 1e-6 outside its range is moved to the end of the range; anything further out is an error. Numpy
arrays and torch tensors are accepted alike.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from slova._backend import Array, Backend, floating, to_numpy


class _None(int):
    """-1 that prints as NONE."""

    def __repr__(self) -> str:
        return "NONE"

    __str__ = __repr__

    def __reduce__(self) -> str:
        return "NONE"


NONE = _None(-1)
"""The label "none of the classes": in losses, calibration, prediction and metrics."""
NONE_INDEX = int(NONE)
"""The same as a plain integer, for code that torch compiles."""

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

ROUNDING = 1e-6


def check_logits(logits: Array, classes: int | None = None, name: str = "logits") -> tuple[Array, Backend]:
    """The logits (..., K) in float32 or float64, and their primitives; `classes` is the K that is expected."""
    logits, ops = floating(logits, name)
    found = logits.shape[-1] if logits.ndim else 0
    if found < 1 or classes not in (None, found):
        expected = "n_classes" if classes is None else classes
        raise ValueError(f"{name} must have shape (..., {expected}), got {tuple(logits.shape)}")
    return logits, ops


def check_rows(log_probs: Array, labels: Array, name: str = "log_probs") -> tuple[NDArray[np.floating], Ints]:
    """Log-probabilities or logits (N, K) and labels (N,) to fit to, on the host; half precision becomes float32."""
    rows = to_numpy(log_probs)
    if rows.ndim != 2 or 0 in rows.shape:
        raise ValueError(f"{name} must have shape (n_rows, n_classes), at least one of each, got {rows.shape}")
    if rows.dtype.kind != "f":
        raise TypeError(f"{name} must be floating point, got {rows.dtype}")
    column = check_labels(labels, rows, name)
    if np.isnan(rows).any():
        raise ValueError(f"{name} must not be NaN, got NaN in {np.isnan(rows).any(axis=1).sum()} of {len(rows)} rows")
    if name == "log_probs" and rows.max() > 1e-5:
        raise ValueError(f"log_probs must be at most 0, got values up to {rows.max():g}; are these logits?")
    return rows.astype(np.float32) if rows.dtype.itemsize == 2 else rows, column


def check_labels(labels: Array, rows: NDArray[Any], name: str) -> Ints:
    """Labels (N,) for rows (N, K) that have this name, NONE allowed."""
    column, classes = to_numpy(labels), rows.shape[1]
    _check_matching(column, "labels", rows, name)
    if column.dtype.kind not in "iu":
        raise TypeError(f"labels must be integers, got {column.dtype}")
    if column.min() < NONE or column.max() >= classes:
        raise ValueError(f"labels must lie in [-1, {classes}), got values from {column.min()} to {column.max()}")
    return column.astype(np.int64)


def check_weight(weight: Array, labels: NDArray[Any]) -> Floats:
    """How often each row counts (N,)."""
    column: Floats = to_numpy(weight).astype(np.float64)
    if column.shape != labels.shape:
        raise ValueError(f"weight {column.shape} does not match labels {labels.shape}")
    if not np.isfinite(column).all() or (column < 0).any() or not 0 < column.sum() < np.inf:
        raise ValueError("weights must be finite, not negative, and not all zero")
    return column


def check_distances(distances: Array, labels: NDArray[Any]) -> Floats:
    """Distances (N, D) of the rows, none negative."""
    rows: Floats = to_numpy(distances).astype(np.float64)
    if rows.ndim != 2 or len(rows) != len(labels) or not rows.shape[1]:
        raise ValueError(f"distances must have shape ({len(labels)}, D), got {rows.shape}")
    if not (np.isfinite(rows).all() and (rows >= 0).all()):
        raise ValueError("distances must be finite and not negative")
    return rows


def check_groups(groups: Array, labels: NDArray[Any]) -> Ints:
    """A number for each row (N,)."""
    column = to_numpy(groups)
    if column.shape != labels.shape or column.dtype.kind not in "iu":
        raise ValueError(f"groups must be integers {labels.shape}, one per label, got {column.dtype} {column.shape}")
    return np.asarray(column, np.int64)


def check_share(value: Array, name: str) -> Array:
    """A number in [0, 1], or one per row. An array on an accelerator is not looked at, which would wait for it."""
    if str(getattr(value, "device", "cpu")) != "cpu":
        return value
    values = value if isinstance(value, int | float) else to_numpy(value)
    if isinstance(values, np.ndarray) and values.dtype.kind not in "biuf":
        raise TypeError(f"{name} must be a number, got {value!r}")
    if not np.all((values >= 0) & (values <= 1)):
        raise ValueError(f"{name} must lie in [0, 1], got {value}")
    return value


def check_bins(bins: int) -> int:
    if isinstance(bins, bool) or not isinstance(bins, int | np.integer):
        raise TypeError(f"bins must be a whole number, got {type(bins).__name__}")
    if bins < 1:
        raise ValueError(f"bins must be at least 1, got {bins}")
    return int(bins)


def check_probs(probs: Array) -> Floats:
    return _within(_floats(probs, "probs", 2), "probs", 0.0, 1.0)


def check_log_probs(log_probs: Array) -> Floats:
    return _within(_floats(log_probs, "log_probs", 2), "log_probs", -np.inf, 0.0)


def check_log_none(log_none: Array, log_probs: Floats) -> Floats:
    column = _within(_floats(log_none, "log_none", 1), "log_none", -np.inf, 0.0)
    return _check_matching(column, "log_none", log_probs, "log_probs")


def check_confidence(confidence: Array, name: str) -> Floats:
    """(N,) in [0, 1]; no rows at all are accepted, because a batch may lack one kind."""
    column = _host(confidence, name)
    return column if column.shape == (0,) else _within(_floats(column, name, 1), name, 0.0, 1.0)


def check_finite(confidence: Array, name: str) -> Floats:
    column = _floats(confidence, name, 1)
    if not np.isfinite(column).all():
        raise ValueError(f"{name} must be finite, got {column[~np.isfinite(column)][0]}")
    return column


def top_class(probs: Array, labels: Array) -> tuple[Floats, Flags]:
    """The confidence of each row's top class (the first one of a tie) and whether it is the label; NONE is no class."""
    rows = check_probs(probs)
    return rows.max(axis=1), rows.argmax(axis=1) == check_labels(labels, rows, "probs")


def _floats(array: Array, name: str, axes: int) -> Floats:
    values = _host(array, name)
    if values.ndim != axes or 0 in values.shape:
        expected = "(n_rows,), at least one" if axes == 1 else "(n_rows, n_classes), at least one of each"
        raise ValueError(f"{name} must have shape {expected}, got {values.shape}")
    return values


def _host(array: Array, name: str) -> Floats:
    values = to_numpy(array)
    if values.dtype.kind != "f" and values.size:
        raise TypeError(f"{name} must be floating point, got {values.dtype}")
    return values.astype(np.float64, copy=False)


def _within(values: Floats, name: str, low: float, high: float) -> Floats:
    least, most = values.min(), values.max()
    if not (least >= low - ROUNDING and most <= high + ROUNDING):  # false for nan as well
        raise ValueError(f"{name} must lie in [{low:g}, {high:g}], got values from {least} to {most}")
    return values if least >= low and most <= high else values.clip(low, high)


def _check_matching(column: NDArray[Any], name: str, rows: NDArray[Any], rows_name: str) -> NDArray[Any]:
    if column.shape != rows.shape[:1]:
        raise ValueError(f"{name} {column.shape} do not match {rows_name} {rows.shape}")
    return column
