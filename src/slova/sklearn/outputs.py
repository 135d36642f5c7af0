"""What a fitted model returns for rows, checked: an estimator of another library may return anything."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import _num_samples

__all__ = ["checked_outputs"]

ROUNDING = 1e-3  # by which a probability may be below 0 or above 1: the precision of float16


def checked_outputs(model: Any, X: Any, method: str) -> NDArray[np.float64]:
    """The outputs of this method of a model, one row per input. Probabilities need not sum to one: those of one-vs-rest
    models, such as LightGBM's "multiclassova", do not, and are normalised by `Response`."""
    name, rows = f"{type(model).__name__}.{method}", _num_samples(X)
    found = np.asarray(getattr(model, method)(X))
    if found.dtype == object:  # numbers of several types
        found = np.asarray(found.tolist())
    if found.dtype.kind not in "biuf":
        raise ValueError(f"{name} must return real numbers, got {found.dtype}")
    if found.shape[:1] != (rows,):
        raise ValueError(f"{name} must return one row for each of {rows} inputs, got shape {found.shape}")
    outputs = found.astype(np.float64)
    _check(~np.isfinite(outputs), name, "NaN or infinity")
    if method != "predict_proba":
        return outputs
    _check((outputs < -ROUNDING) | (outputs > 1 + ROUNDING), name, "probabilities outside [0, 1]")
    if outputs.ndim > 1 and outputs.shape[1] > 1:
        _check(outputs.max(axis=1) <= 0, name, "no probability above 0")
    return outputs.clip(0, 1)


def _check(wrong: NDArray[np.bool_], name: str, problem: str) -> None:
    bad = np.flatnonzero(wrong.any(axis=tuple(range(1, wrong.ndim))))
    if len(bad):
        raise ValueError(f"{name} returned {problem} for {len(bad)} of {len(wrong)} rows, the first is row {bad[0]}")
