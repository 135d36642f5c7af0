"""What scikit-learn's users may pass and what they may expect: labels of any kind, weights, rows that sum to one."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import _check_sample_weight, has_fit_parameter

from slova.calibration import complete
from slova.heads import NONE

__all__ = ["answerable", "checked_weight", "classes_of", "completed", "encoded"]

Names = NDArray[Any]
LEAD = 1e-6  # the share by which a label less probable than 1/K leads its completed row, whose argmax it must be


def classes_of(names: Names, none_label: Any) -> Names:
    """The different labels, in order, but for `none_label`."""
    return np.unique(names[~_is_none(names, none_label)])


def encoded(names: Names, classes: Names, none_label: Any) -> NDArray[np.int64]:
    """The place of each row's label among the classes, or NONE."""
    if len(classes) < 2:
        raise ValueError(f"wanted at least two classes beside none_label, got {len(classes)} class: {classes}")
    known = ~_is_none(names, none_label)
    strange = np.setdiff1d(names[known], classes)
    if strange.size:
        raise ValueError(f"y has labels {strange} that are not among the classes {classes}")
    labels = np.full(len(names), NONE)
    labels[known] = np.searchsorted(classes, names[known])
    return labels


def answerable(classes: Names, none_label: Any, reject_threshold: float | None) -> Names:
    """What a prediction may say: the classes, and last, where NONE = -1 finds it, `none_label`."""
    if reject_threshold is not None and none_label is None:
        raise ValueError(f"reject_threshold={reject_threshold} wants a none_label to give to what it rejects, got None")
    if reject_threshold is not None and not 0 <= reject_threshold <= 1:
        raise ValueError(f"reject_threshold must lie in [0, 1], got {reject_threshold}")
    if _is_none(classes, none_label).any():
        raise ValueError(f"none_label={none_label!r} is one of the classes {classes}; wanted a label that is not")
    return classes if none_label is None else np.append(classes, none_label)


def checked_weight(sample_weight: Any, X: Any, base: Any) -> NDArray[np.float64] | None:
    """The weights as an array, or None; `base` is what will have to take them, if anything."""
    if sample_weight is None:
        return None
    if base is not None and not has_fit_parameter(base, "sample_weight"):
        raise TypeError(f"sample_weight was given, but {type(base).__name__}.fit does not take it")
    weight: NDArray[np.float64] = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    if not weight.any():
        raise ValueError("all sample weights are zero, wanted at least one that is not")
    return weight


def completed(log_probs: NDArray[np.float64], top: NDArray[np.int64]) -> NDArray[np.float64]:
    """Probabilities (N, K) that sum to one, the largest that of the class `top` (N, 1): see `complete`."""
    least = np.log((1 + LEAD) / log_probs.shape[1])
    np.put_along_axis(log_probs, top, np.maximum(log_probs.max(axis=1, keepdims=True), least), axis=1)
    probs = np.exp(complete(log_probs, none=False).log_probs)
    np.put_along_axis(probs, top, probs.max(axis=1, keepdims=True), axis=1)  # a tied class may be larger by rounding
    return np.asarray(probs)


def _is_none(names: Names, none_label: Any) -> NDArray[np.bool_]:
    if none_label is None:
        return np.zeros(len(names), bool)
    if not _fits(np.asarray(none_label), names):
        raise ValueError(f"none_label={none_label!r} is not of the kind of the labels, which are {names.dtype}")
    return np.asarray(names == none_label)


def _fits(label: Names, names: Names) -> bool:
    """Whether the label can stand among the names without turning them, or itself, into something else."""
    if names.dtype.kind == "O":
        return True
    kinds = [array.dtype.kind.replace("u", "i") for array in (label, names, np.append(names[:0], label))]
    return kinds[1] == kinds[2] and (kinds[0] in "US") == (kinds[1] in "US")
