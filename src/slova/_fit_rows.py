"""The rows of a fit: what is checked of them, how often NONE rows count, and answers given that a row has a class."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from slova._backend import Array, to_numpy
from slova._validation import NONE, Floats, Ints, check_groups, check_labels, check_rows
from slova.heads import Readout
from slova.prediction import Prediction


class Rows(NamedTuple):
    """What a scorer is fitted to, one entry per row."""

    logits: Floats
    labels: Ints
    weight: Floats | None
    none_weight: Floats | None
    distances: Floats | None
    groups: Ints | None
    own: Ints | None
    read: Floats | None = None  # what the calibrator takes of the logits, the same in all folds

    def at(self, which: Any) -> Rows:
        return Rows(*(None if part is None else part[which] for part in self))  # type: ignore[arg-type]


def checked_rows(values: Array, labels: Array, none_share: float | None) -> tuple[Any, int, Ints]:
    """Values (N, K) and labels; one column, or no second axis, is a problem of two classes."""
    rows = to_numpy(values)
    rows = rows[:, None] if rows.ndim == 1 else rows
    if rows.ndim == 2 and rows.shape[1] == 1:
        rows, _ = check_rows(rows, np.zeros(len(rows), int), "logits")
        column, classes = check_labels(labels, np.hstack([rows, rows]), "logits"), 2
    else:
        rows, column = check_rows(rows, labels, "logits")
        classes = rows.shape[1]
    if none_share is not None and not (column == NONE).any():
        raise ValueError("none_share is the prior of NONE, and no row is labelled NONE: omit it, or add such rows")
    return np.asarray(rows), classes, column


def check_versions(versions_of: Array, labels: Ints) -> Ints:
    """For each row the index of the validation row that it is a version of."""
    groups = check_groups(versions_of, labels)
    if ((groups < 0) | (groups >= len(labels))).any() or (groups[groups] != groups).any():
        raise ValueError("versions_of must hold indices of rows that are versions of themselves")
    return groups


def with_share(labels: Ints, weight: Floats | None, none_share: float) -> Floats:
    """Weights with which the NONE rows are this share of all."""
    counts = np.ones(len(labels)) if weight is None else weight
    none = labels == NONE
    if not none.any():
        return counts
    factor = none_share / (1 - none_share) * counts[~none].sum() / max(float(counts[none].sum()), 1e-300)
    return np.where(none, counts * factor, counts)


def given_a_class(prediction: Prediction, readout: Readout) -> tuple[Prediction, Readout]:
    """The answers given "not none", for rows that all have a class although NONE has a prior."""
    log_known = np.log1p(-np.exp(np.minimum(readout.log_none, -1e-12)))
    known = np.exp(log_known)
    given = {"none": 0 * known, "confidence": prediction.confidence / known, "ambiguous": prediction.ambiguous / known}
    log_none = np.full_like(readout.log_none, -np.inf)
    return replace(prediction, **given), Readout(readout.log_probs - log_known[:, None], log_none)
