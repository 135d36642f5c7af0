"""What the metrics accept, checked once at the door: probs (N, K), log_probs (N, K), confidence (N,), labels (N,).

Rows may sum to less or to more than one and are never renormalised. A value that rounding put up to 1e-6 outside its
range is moved to the end of the range; anything further out is an error. Numpy arrays and torch tensors alike,
float64 inside.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from slova._backend import Array, to_numpy
from slova.heads import NONE

__all__ = [
    "Flags",
    "Floats",
    "Ints",
    "bin_count",
    "confidence_column",
    "finite_column",
    "labels_for",
    "log_column",
    "log_rows",
    "prob_rows",
    "share",
    "top",
]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

ROUNDING = 1e-6


def top(probs: Array, labels: Array) -> tuple[Floats, Flags]:
    """The confidence of each row's top class (the first one of a tie) and whether it is the label; NONE is no class."""
    rows = prob_rows(probs)
    return rows.max(axis=1), rows.argmax(axis=1) == labels_for(labels, rows, "probs")


def prob_rows(probs: Array) -> Floats:
    return _within(_floats(probs, "probs", 2), "probs", 0.0, 1.0)


def log_rows(log_probs: Array) -> Floats:
    return _within(_floats(log_probs, "log_probs", 2), "log_probs", -np.inf, 0.0)


def log_column(log_none: Array, rows: Floats) -> Floats:
    column = _within(_floats(log_none, "log_none", 1), "log_none", -np.inf, 0.0)
    return _matching(column, "log_none", rows, "log_probs")


def confidence_column(confidence: Array, name: str) -> Floats:
    """(N,) in [0, 1]; no rows at all is fine, because a batch may lack one kind."""
    column = _host(confidence, name)
    return column if column.shape == (0,) else _within(_floats(column, name, 1), name, 0.0, 1.0)


def finite_column(confidence: Array, name: str) -> Floats:
    column = _floats(confidence, name, 1)
    if not np.isfinite(column).all():
        raise ValueError(f"{name} must be finite, got {column[~np.isfinite(column)][0]}")
    return column


def labels_for(labels: Array, rows: Floats, name: str) -> Ints:
    column = to_numpy(labels)
    if column.dtype.kind not in "iu":
        raise TypeError(f"labels must be integers, got {column.dtype}")
    column, classes = _matching(column, "labels", rows, name), rows.shape[1]
    if column.min() < NONE or column.max() >= classes:
        wanted = f"{NONE} (NONE) to {classes - 1}"
        raise ValueError(f"labels must lie in {wanted} for {name} {rows.shape}, got {column.min()} to {column.max()}")
    return column.astype(np.int64)


def share(value: float, name: str) -> float:
    if not 0.0 <= value <= 1.0:
        raise ValueError(f"{name} must lie in [0, 1], got {value}")
    return float(value)


def bin_count(bins: int) -> int:
    if isinstance(bins, bool) or not isinstance(bins, int | np.integer):
        raise TypeError(f"bins must be a whole number, got {type(bins).__name__}")
    if bins < 1:
        raise ValueError(f"bins must be at least 1, got {bins}")
    return int(bins)


def _floats(array: Array, name: str, axes: int) -> Floats:
    values = _host(array, name)
    if values.ndim != axes or 0 in values.shape:
        wanted = "(N,) with at least one row" if axes == 1 else "(N, K) with at least one row and one class"
        raise ValueError(f"{name} want shape {wanted}, got {values.shape}")
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


def _matching(column: NDArray[Any], name: str, rows: Floats, rows_name: str) -> NDArray[Any]:
    if column.shape != rows.shape[:1]:
        raise ValueError(f"{name} {column.shape} do not match {rows_name} {rows.shape}")
    return column
