"""Labels of any type as indices of the classes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import assert_all_finite, column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from slova.heads import NONE

__all__ = ["check_labels", "check_rejection", "classes_of", "encode", "possible_labels"]

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


def check_rejection(classes: Names, none_label: Any, reject: float | None) -> None:
    """The type of `none_label` is not looked at, because a fit does not write it: see `possible_labels`."""
    if reject is not None and not 0 <= reject <= 1:
        raise ValueError(f"reject must lie in [0, 1], got {reject}")
    if reject and none_label is None:
        raise ValueError(f"reject={reject} requires a none_label for rejected rows, got none_label=None")
    if _is_none(classes, none_label).any():
        raise ValueError(f"none_label={none_label!r} must not be one of the classes {classes}")


def possible_labels(classes: Names, none_label: Any, reject: float | None) -> Names:
    """The possible predictions: the classes and, at index NONE = -1, `none_label` if rows may be rejected."""
    check_rejection(classes, none_label, reject)
    if not reject:
        return classes
    if not _fits(none_label, classes):
        raise ValueError(
            f"reject={reject} requires a none_label of the type of the classes, which is {_type(classes)}, got "
            f"none_label={none_label!r} (stacking, voting and others encode the labels as integers before they fit)"
        )
    return np.append(classes, none_label)


def _is_none(names: Names, none_label: Any) -> NDArray[np.bool_]:
    """No row is NONE if `none_label` is of another type than the names, as where a meta-estimator has encoded them. But
    where -1 was meant and "-1" is there, the rows would become a class unnoticed."""
    if none_label is None:
        return np.zeros(len(names), bool)
    if _fits(none_label, names):
        return np.asarray(names == none_label)
    alike = [name for name in np.unique(names).tolist() if name == none_label or str(name) == str(none_label)]
    if alike:
        raise ValueError(
            f"none_label={none_label!r} must be of the type of the labels, which is {_type(names)}: "
            f"{alike[0]!r} is one of them"
        )
    return np.zeros(len(names), bool)


def _fits(none_label: Any, names: Names) -> bool:
    """Whether an array can hold the names and the label without a conversion of either."""
    if names.dtype.kind == "O":
        return isinstance(none_label, str) == any(isinstance(name, str) for name in names)
    label = np.asarray(none_label)
    kinds = [array.dtype.kind.replace("u", "i") for array in (label, names, np.append(names[:0], label))]
    return kinds[1] == kinds[2] and (kinds[0] in "US") == (kinds[1] in "US")


def _type(names: Names) -> str:
    return "text" if names.dtype.kind in "OU" else str(names.dtype)
