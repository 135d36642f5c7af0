"""Between the labels of a scikit-learn user (numbers or strings, `none_label` among them) and those of the library."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from slova.heads import NONE

__all__ = ["answerable", "classes_of", "encoded"]

Names = NDArray[Any]


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


def _is_none(names: Names, none_label: Any) -> NDArray[np.bool_]:
    if none_label is None:
        return np.zeros(len(names), bool)
    kind = np.append(names[:0], none_label).dtype.kind
    if kind.replace("u", "i") != names.dtype.kind.replace("u", "i"):
        raise ValueError(f"none_label={none_label!r} is not of the kind of the labels, which are {names.dtype}")
    return np.asarray(names == none_label)
