"""Which kind of logits these are, found out on labelled rows: what `head="auto"` does. Functions never guess; only a
fit does, it says what it found, and `head=` overrides it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from slova._backend import NUMPY
from slova._validation import NONE, Floats, Ints
from slova.heads import BINARY, BINARY_PROBABILITIES, OVA_PROBABILITIES, PROBABILITIES, SLOVA, SOFTMAX, Head

__all__ = ["Detected", "check_kind", "detect_head"]

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


def check_kind(head: Head, values: Floats) -> None:
    """Raises if the values are of another kind than those of the fit, where that can be seen."""
    finite = values[np.isfinite(values)]
    shares = bool(finite.size) and bool(((finite >= 0) & (finite <= 1)).all())
    takes_shares = head in (PROBABILITIES, OVA_PROBABILITIES, BINARY_PROBABILITIES)
    if takes_shares and not shares:
        raise ValueError(
            f"the model was fitted to probabilities, got values from {finite.min():.3g} to {finite.max():.3g}"
        )
    if not takes_shares and shares and values.shape[1] > 1 and len(values) > 1 and _sum_to_one(values):
        raise ValueError("the model was fitted to logits, got rows of probabilities that sum to one: give their logits")


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

    assert SOFTMAX.log_odds is not None
    return loss(rows), loss(SOFTMAX.log_odds(rows, NUMPY))
