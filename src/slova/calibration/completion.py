"""A readout that completes a row: K classes and "none" as outcomes whose probabilities sum to one.

Calibrated class by class a row need not sum to anything: on real data a quarter of the rows can exceed one, others stay
below. Completing a row keeps two things: the calibrated confidence of its top class, and the order of the classes.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from slova._backend import Array, Backend
from slova._types import BatchFlags, BatchFloats, LogProbs
from slova._validation import check_logits

__all__ = ["Completion", "complete"]

# Steps that leave tau off by less than rounding, on rows whose gaps span 35 orders of magnitude as well.
HALVINGS, NEWTON_STEPS = 11, 5
NEAREST, FARTHEST = 1e-20, 1e15  # gaps between log-probabilities: below, they are ties; beyond, the probability is 0
CERTAIN = -800.0  # log-odds of "another class", below those of every top that is not exactly 1


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
    top, index = highest, _ = ops.top(log_probs)
    equal = ops.log(ops.full(top, 1 / classes))
    raised = (top < equal)[..., 0]
    if not none:
        top = ops.where(top < equal, equal, top)
    shares = log_probs
    if classes > 1:
        shares = _shares(log_probs, highest, index, top, ops) + ops.log1mexp(top)
    shares = ops.put(ops.where(shares > top, top, shares), index, top)  # rounding puts no class above the top
    filled = ops.where(top < equal, top + ops.full(log_probs, 0.0), shares)
    left = ops.log1mexp(ops.clip(top + ops.log(ops.full(top, classes)), None, 0.0))
    log_none = ops.where(top < equal, left, ops.full(top, -float("inf")))[..., 0]
    return Completion(filled, log_none, raised if not none else ops.full(raised, False))


def _shares(log_probs: Array, highest: Array, index: Array, top: Array, ops: Backend) -> Array:
    """log of how the others share the rest: softmax(tau log p) without the top class, whose log-probability is
    `highest` and shall be `top`. Gradients take tau for a constant."""
    none_there = ops.full(top, -float("inf"))
    second = ops.top(ops.put(log_probs, index, none_there))[0]
    behind = ops.clip(ops.minus(log_probs, second), -FARTHEST, 0.0)  # the second class, and all at 0 where it is, are 0
    others = ops.put(behind, index, none_there)
    gap = ops.clip(ops.minus(highest, second), NEAREST, FARTHEST)
    odds = ops.clip(ops.log1mexp(top) - top, CERTAIN, None)  # log of (1 - top) / top
    scaled = _tau(behind, others, gap, odds, ops) * others
    return scaled - ops.log(ops.total(ops.exp(scaled)))


def _tau(behind: Array, others: Array, gap: Array, odds: Array, ops: Backend) -> Array:
    """The tau at which log sum exp(tau others) - tau gap = odds. `behind` is `others`, but finite at the top class.

    The left side is convex in tau and falls from log(K - 1), with the slope -`mean` at 0 and at least as steeply as
    -`gap` everywhere: tau is at least `fall` / mean and at most `fall` / gap. An interval of log tau is halved until
    Newton's method converges quadratically from its lower end, for a convex function without passing tau.
    """

    def excess(tau: Array) -> tuple[Array, Array, Array]:
        weights = ops.exp(tau * others)
        total = ops.total(weights)
        return ops.log(total) - tau * gap - odds, weights, total

    behind, others, gap, odds = map(ops.constant, (behind, others, gap, odds))
    rest = behind.shape[-1] - 1
    fall = ops.clip(math.log(rest) - odds, NEAREST, None)
    mean = gap - ops.total(behind) / rest
    tau, width = fall / mean, ops.log(mean / gap)
    for halving in range(1, HALVINGS + 1):
        further = tau * ops.exp(width * 0.5**halving)
        tau = ops.where(excess(further)[0] > 0, further, tau)
    low, high = tau, tau * ops.exp(width * 0.5**HALVINGS)
    for _ in range(NEWTON_STEPS):
        above, weights, total = excess(tau)
        tau = tau + above / (gap - ops.total(weights * behind) / total)
        tau = ops.where(tau > high, high, ops.where(tau < low, low, tau))  # where rounding is all that is left
    return tau
