"""A readout that completes a row: K classes and "none" as outcomes whose probabilities sum to one.

Calibrated class by class a row need not sum to anything: on real data a quarter of the rows can exceed one, others stay
below. Completing a row keeps two things: the calibrated confidence of its top class, and the order of the classes.
"""

from __future__ import annotations

from typing import NamedTuple

from slova._backend import Array, Backend
from slova._types import BatchFlags, BatchFloats, LogProbs
from slova._validation import check_logits

__all__ = ["Completion", "complete"]

STEPS = 60


class Completion(NamedTuple):
    """log-probabilities of the classes (..., K) and of none (...), which sum to one with them, and where (...) the top
    had to be raised."""

    log_probs: LogProbs
    log_none: BatchFloats
    raised: BatchFlags


def complete(log_probs: LogProbs, *, none: bool = True) -> Completion:
    """Give the rest of each row to its other classes, as much as their order allows, and what is then left to none.

    The other classes share the rest like p_k^tau, with tau such that softmax(tau log p) has the top confidence as its
    maximum. Where the top is below 1/K no class may have more than it, so all have as much as it, and none has what is
    left. With `none=False`, for a caller who insists on K outcomes, the top is raised to 1/K there, `raised` says in
    which rows, and log_none is -inf.

    >>> import numpy as np
    >>> row = complete(np.log([[0.7, 0.1, 0.02]]))           # a Completion
    >>> np.exp(row.log_probs).round(3), np.exp(row.log_none).round(3)
    (array([[0.7  , 0.217, 0.083]]), array([0.]))
    """
    log_probs, ops = check_logits(log_probs, name="log_probs")
    log_probs = ops.clip(log_probs, None, 0.0)  # rounding may have put a certain class above
    classes = log_probs.shape[-1]
    top, index = ops.top(log_probs)
    equal = ops.log(ops.full(top, 1 / classes))
    raised = (top < equal)[..., 0]
    if not none:
        top = ops.where(top < equal, equal, top)
    below = ops.put(
        ops.clip(ops.minus(log_probs, ops.top(log_probs)[0]), -1e15, 0.0), index, ops.full(top, -float("inf"))
    )
    shares = _shares(below, top, ops) + ops.log1mexp(top)
    shares = ops.put(ops.where(shares > top, top, shares), index, top)  # rounding puts no class above the top
    filled = ops.where(top < equal, top + ops.full(log_probs, 0.0), shares)
    left = ops.log1mexp(ops.clip(top + ops.log(ops.full(top, classes)), None, 0.0))
    log_none = ops.where(top < equal, left, ops.full(top, -float("inf")))[..., 0]
    return Completion(filled, log_none, raised if not none else ops.full(raised, False))


def _shares(below: Array, top: Array, ops: Backend) -> Array:
    """log of how the others share the rest: softmax(tau below) without the top, with log(1 + sum exp(tau below)) = -log
    top.

    That sum falls with tau and is convex in it, so halving an interval of log tau finds tau to rounding."""
    low, high = ops.full(top, -60.0), ops.full(top, 30.0)
    odds = ops.log1mexp(top) - top  # log of (1 - top) / top, what sum exp(tau below) must be
    for _ in range(STEPS):
        middle = (low + high) / 2
        above = ops.logsumexp(ops.exp(middle) * below)[..., None] > odds
        low, high = ops.where(above, middle, low), ops.where(above, high, middle)
    scaled = ops.exp(high) * below
    return ops.minus(scaled, ops.logsumexp(scaled)[..., None])
