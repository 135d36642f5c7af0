"""From logits to log-probabilities: softmax, one-vs-all, and SLOVA, "this class and no other".

A network with K outputs f (the logits, class axis last, any batch shape) is read as K independent yes/no answers
p_k = sigmoid(f_k). Exactly one of these things is then true of an input:

    none      no class says yes                P(none)    = prod_j (1 - p_j)
    one       class k and no other says yes    P(k)       = p_k prod_{j != k} (1 - p_j)        (Eq. 3)
    several   two or more classes say yes      P(several) = 1 - P(none) - sum_k P(k)

so the confidence max_k P(k) is low both when no class fits and when several do. Everything is computed in log space,
where the products are sums of softplus(f) = log(1 + e^f), for numpy arrays and torch tensors alike; torch results are
differentiable.
"""

from __future__ import annotations

from typing import NamedTuple

from slova._backend import Array, floating

__all__ = [
    "NONE",
    "Readout",
    "log_multilabel",
    "log_none",
    "log_ova",
    "log_several",
    "log_slova",
    "log_softmax",
    "read_ova",
    "read_slova",
    "read_softmax",
]

NONE = -1
"""The label "none of the classes": in losses, calibration, prediction and metrics."""


class Readout(NamedTuple):
    """What a head says of a batch: log P(this class and no other) (..., K), and log P(none) (...), which those K do not
    determine."""

    log_probs: Array
    log_none: Array


def read_softmax(logits: Array) -> Readout:
    """The softmax read-out: "none" is impossible."""
    log_probs = log_softmax(logits)
    return Readout(log_probs, floating(log_probs, "log_probs")[1].full(log_probs[..., 0], -float("inf")))


def read_ova(logits: Array) -> Readout:
    """The plain one-vs-all read-out: each class by itself, so that a row can sum to more than one."""
    return Readout(log_ova(logits), log_none(logits))


def read_slova(logits: Array) -> Readout:
    """The SLOVA read-out."""
    return Readout(log_slova(logits), log_none(logits))


def log_softmax(logits: Array) -> Array:
    """log of softmax: what SLOVA becomes once it is known that exactly one class says yes. Taken from the top class, so
    that a probability near one keeps its digits: log P(top) = -log1p(sum_{j != top} e^(f_j - f_top))."""
    logits, ops = floating(logits, "logits")
    top, index = ops.top(logits)
    shifted = ops.minus(logits, top)
    rival_odds = ops.exp(ops.put(shifted, index, ops.full(top, -float("inf"))))
    return shifted - ops.log1p(rival_odds.sum(-1))[..., None]


def log_ova(logits: Array) -> Array:
    """log p_k = log sigmoid(f_k)."""
    logits, ops = floating(logits, "logits")
    return -ops.softplus(-logits)


def log_slova(logits: Array) -> Array:
    """log P(k) = f_k - sum_j softplus(f_j)  (Eq. 3), taken from the top class, so that nothing cancels:

    log P(top) = -softplus(-f_top) - sum_{j != top} softplus(f_j),   log P(k) = log P(top) + (f_k - f_top).

    >>> import numpy as np
    >>> np.exp(log_slova(np.array([[9.0, -9.0], [9.0, 9.0], [-9.0, -9.0]]))).round(3)  # one fits, both fit, none fits
    array([[1., 0.],
           [0., 0.],
           [0., 0.]])
    """
    logits, ops = floating(logits, "logits")
    top, index = ops.top(logits)
    return ops.minus(logits, top) - ops.softplus(ops.put(logits, index, -top)).sum(-1)[..., None]


def log_none(logits: Array) -> Array:
    """log P(none) = -sum_j softplus(f_j)."""
    logits, ops = floating(logits, "logits")
    return -ops.softplus(logits).sum(-1)


def log_several(logits: Array) -> Array:
    """log P(several): the top class and a second one, summed over which is the first of the others to say yes beside
    exactly one.

    P(several) = sum_{j != top} p_j P(exactly one of top and the classes before j), all terms positive, so that nothing
    cancels.
    """
    logits, ops = floating(logits, "logits")
    top, index = ops.top(logits)
    nothing = ops.full(top, -float("inf"))
    others = ops.put(logits, index, nothing)
    rival_odds = ops.exp(ops.put(ops.minus(logits, top), index, nothing))
    exactly_one = (
        ops.log1p(ops.cumsum_before(rival_odds)) - ops.softplus(-top) - ops.cumsum_before(ops.softplus(others))
    )
    return ops.logsumexp(ops.put(exactly_one - ops.softplus(-logits), index, nothing))


def log_multilabel(logits: Array) -> Array:
    """log of the probability of the likeliest *set* of labels, {k: p_k >= 1/2}  (Remark 3.1)."""
    logits, ops = floating(logits, "logits")
    return -ops.softplus(-abs(logits)).sum(-1)
