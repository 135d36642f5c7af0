"""Labels as users have them: integers, names, lists, pandas columns, with NONE among them; and as integers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from slova._backend import to_numpy
from slova._validation import NONE, Ints


def label_column(labels: Any) -> np.ndarray:
    """Labels of any kind as a numpy column: integers, text, or objects."""
    if hasattr(labels, "to_numpy"):  # pandas
        labels = labels.to_numpy()
    if isinstance(labels, list | tuple):
        labels = [label.item() if getattr(label, "shape", None) == () else label for label in labels]
        mixed = any(label is None or isinstance(label, str) for label in labels)
        labels = np.array(labels, dtype=object) if mixed else np.asarray(labels)
    column = to_numpy(labels)
    if column.ndim == 2 and column.shape[1] == 1:  # a table of one column
        column = column[:, 0]
    if column.ndim > 1:
        raise ValueError(f"labels must be one class per row (n_rows,), got {column.shape}: use one-hot.argmax(axis=1)")
    return column.astype(np.int64) if column.dtype.kind == "b" else column


def encode(column: np.ndarray, names: Sequence[str] | None) -> tuple[np.ndarray, tuple[str, ...] | None]:
    """The labels as integers, NONE as -1, and the names of the classes: those given, or those found, sorted. Labels of
    a type that is neither are returned as they are, for `check_labels` to refuse."""
    names = None if names is None else tuple(str(name) for name in names)
    if column.dtype.kind not in "OSU":
        return column, names
    is_none = np.array([_is_none(label) for label in column.tolist()], bool)
    known = [label for label, none in zip(column.tolist(), is_none, strict=True) if not none]
    codes = np.full(len(column), int(NONE), np.int64)
    if all(isinstance(label, int) for label in known):
        codes[~is_none] = known
        return codes, names
    found = sorted({str(label) for label in known})
    names = tuple(found) if names is None else names
    codes[~is_none] = _codes([str(label) for label in known], names)
    return codes, names


def class_names(names: Sequence[Any], classes: int | None = None) -> tuple[str, ...]:
    """The names of the classes as text, all different; `classes` is how many there must be."""
    found = tuple(str(name) for name in names)
    if classes not in (None, len(found)):
        raise ValueError(f"got {len(found)} names for {classes} classes")
    for name, times in Counter(found).most_common(1):
        if times > 1:
            raise ValueError(f"names must differ, {name[:80]!r} occurs {'twice' if times == 2 else f'{times} times'}")
    return found


def _codes(labels: list[str], names: Sequence[str]) -> Ints:
    place = {name: code for code, name in enumerate(names)}
    unknown = sorted(set(labels) - place.keys())
    if unknown:
        classes = ", ".join(names[:10]) + (", …" if len(names) > 10 else "")
        raise ValueError(
            f"the labels {', '.join(map(repr, unknown[:5]))} are none of the classes of the fit ({classes}); "
            "label rows of other classes slova.NONE"
        )
    return np.array([place[label] for label in labels], np.int64)


def _is_none(label: Any) -> bool:
    """None, NONE, "NONE", and what pandas has for missing."""
    missing = type(label).__name__ in ("NAType", "NaTType") or (isinstance(label, float) and np.isnan(label))
    return label is None or missing or label == "NONE" or (isinstance(label, int) and label == NONE)
