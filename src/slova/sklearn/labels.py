"""Labels of any type as indices of the classes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import assert_all_finite, column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from slova.heads import NONE

__all__ = ["check_labels", "classes_of", "encode", "possible_labels"]

Names = NDArray[Any]


def check_labels(y: Any) -> Names:
    """The labels of a classification problem as an array (N,)."""
    assert_all_finite(y, input_name="y")
    check_classification_targets(y)
    return np.asarray(column_or_1d(y, warn=True))


def classes_of(names: Names, none_label: Any) -> Names:
    """The distinct labels in sorted order, without `none_label`."""
    return np.unique(names[~_is_none(names, none_label)])


def encode(names: Names, classes: Names, none_label: Any) -> NDArray[np.int64]:
    """The index of each row's label in `classes`, or NONE."""
    if len(classes) < 2:
        raise ValueError(f"y must have at least two classes beside none_label, got {len(classes)} class: {classes}")
    known = ~_is_none(names, none_label)
    unknown = np.setdiff1d(names[known], classes)
    if unknown.size:
        raise ValueError(f"y has labels {unknown} that are not among the classes {classes}")
    labels = np.full(len(names), NONE)
    labels[known] = np.searchsorted(classes, names[known])
    return labels


def possible_labels(classes: Names, none_label: Any, reject: float | None) -> Names:
    """The possible predictions: the classes and, at index NONE = -1, `none_label`."""
    if reject is not None and not 0 <= reject <= 1:
        raise ValueError(f"reject must lie in [0, 1], got {reject}")
    if reject is not None and none_label is None:
        raise ValueError(f"reject={reject} requires a none_label for rejected rows, got none_label=None")
    if _is_none(classes, none_label).any():
        raise ValueError(f"none_label={none_label!r} must not be one of the classes {classes}")
    return classes if none_label is None else np.append(classes, none_label)


def _is_none(names: Names, none_label: Any) -> NDArray[np.bool_]:
    if none_label is None:
        return np.zeros(len(names), bool)
    if not _fits(np.asarray(none_label), names):
        raise ValueError(f"none_label={none_label!r} must be of the type of the labels, which is {names.dtype}")
    return np.asarray(names == none_label)


def _fits(label: Names, names: Names) -> bool:
    """Whether an array can hold the names and the label without a conversion of either."""
    if names.dtype.kind == "O":
        return True
    kinds = [array.dtype.kind.replace("u", "i") for array in (label, names, np.append(names[:0], label))]
    return kinds[1] == kinds[2] and (kinds[0] in "US") == (kinds[1] in "US")
