"""Which kind of logits these are, found out on labelled rows: what `head="auto"` does. Functions never guess; only a
fit does, it says what it found, and `head=` overrides it."""

from __future__ import annotations

import sys
from typing import NamedTuple

import numpy as np

from slova._backend import NUMPY, Array, to_numpy
from slova._validation import NONE, Floats, Ints
from slova.heads import BINARY, BINARY_PROBABILITIES, OVA_PROBABILITIES, PROBABILITIES, SLOVA, SOFTMAX, Head

__all__ = ["Detected", "check_kind", "detect_head"]

SHARES = ("probabilities", "ova_probabilities", "binary_probabilities")  # heads that read probabilities
LOOK = 256  # rows that are looked at before a prediction
ROUNDING = 2e-3  # by which the sum of a row of probabilities may differ from one: half precision, or a few digits
MARGIN = 1.25  # how many times the loss of the softmax reading that of the one-vs-all reading may be


class Detected(NamedTuple):
    """A head, and a sentence about why it is this one."""

    head: Head
    why: str


def detect_head(values: Floats, labels: Ints) -> Detected:
    """The head for values (N, K) with labels (N,), NONE allowed."""
    if values.shape[1] == 1:
        return _binary(values)
    if _are_shares(values):
        if _sum_to_one(values):
            return Detected(PROBABILITIES, "the rows are probabilities that sum to one")
        return Detected(OVA_PROBABILITIES, "the values are probabilities that do not sum to one: one-vs-all")
    if values.max() <= ROUNDING and np.allclose(NUMPY.logsumexp(values), 0.0, atol=ROUNDING):
        return Detected(SOFTMAX, "the rows are log-probabilities")
    ova, softmax = _losses(values, labels)
    losses = f"one-vs-all log-loss {ova:.3g} per row, read as softmax {softmax:.3g}"
    if ova > MARGIN * softmax and not (labels == NONE).any():
        return Detected(SOFTMAX, f"softmax logits ({losses})")
    return Detected(SLOVA, f"one-vs-all logits ({losses})")


def check_kind(head: Head, values: Array) -> None:
    """Raises if the values are of another kind than those of the fit, where their first rows show it. Values on an
    accelerator, or in a program that is being traced, are not looked at."""
    rows = _first_rows(values)
    if rows is None:
        return
    finite = rows[np.isfinite(rows)]
    takes_shares = head.name in SHARES
    if takes_shares and finite.size and not (finite.min() >= -ROUNDING and finite.max() <= 1 + ROUNDING):
        found = f"values from {finite.min():.3g} to {finite.max():.3g}"
        raise ValueError(f"the model was fitted to probabilities, got {found}: give probabilities, not logits")
    if not takes_shares and len(rows) > 1 and rows.shape[1] > 1 and _are_shares(rows) and _sum_to_one(rows):
        raise ValueError("the model was fitted to logits, got rows of probabilities that sum to one: give their logits")


def _first_rows(values: Array) -> Floats | None:
    """A few rows (n, K) on the host, or None where looking would be expensive or impossible."""
    if hasattr(values, "is_floating_point"):
        torch = sys.modules["torch"]
        if type(values) is not torch.Tensor or values.device.type != "cpu" or torch.compiler.is_compiling():
            return None
        values = values.detach()
    elif not isinstance(values, np.ndarray | list | tuple):
        return None
    rows = to_numpy(values[:LOOK]) if getattr(values, "ndim", 2) else np.zeros((0, 1))
    if rows.dtype.kind != "f" or not rows.ndim or not rows.shape[-1]:
        return None
    return rows.reshape(-1, rows.shape[-1] if rows.ndim > 1 else 1)[:LOOK]


def _binary(values: Floats) -> Detected:
    if _are_shares(values):
        return Detected(BINARY_PROBABILITIES, "one column of probabilities: class 1 against class 0")
    return Detected(BINARY, "one column of logits: class 1 against class 0")


def _are_shares(values: Floats) -> bool:
    return bool(((values >= 0) & (values <= 1)).all())


def _sum_to_one(values: Floats) -> bool:
    return bool(np.allclose(values.sum(axis=1), 1.0, atol=ROUNDING))


def _losses(values: Floats, labels: Ints) -> tuple[float, float]:
    """The binary log-loss summed over the classes, per row: of the values as one-vs-all logits, and of the log-odds
    that softmax gives."""
    known = labels != NONE
    rows = np.clip(values[known] if known.any() else values, -1e4, 1e4).astype(np.float64)
    own = np.arange(values.shape[1]) == (labels[known] if known.any() else labels)[:, None]

    def loss(log_odds: Floats) -> float:
        clipped = np.clip(log_odds, -30, 30)  # one saturated row must not decide
        return float((NUMPY.softplus(clipped) - own * clipped).sum(axis=1).mean())

    return loss(rows), loss(SOFTMAX.log_odds(rows, NUMPY))
