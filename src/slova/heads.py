"""From logits to log-probabilities: softmax, one-vs-all, and SLOVA, "this class and no other".

A network with K outputs f (the logits, class axis last, any batch shape) is read as K independent yes/no answers
p_k = sigmoid(f_k). Exactly one of these is then true of an input:

    none      no class fits                    P(none)    = prod_j (1 - p_j)
    one       class k fits and no other        P(k)       = p_k prod_{j != k} (1 - p_j)        (Eq. 3)
    several   two or more classes fit          P(several) = 1 - P(none) - sum_k P(k)

so the confidence max_k P(k) is low both when no class fits and when several do. Everything is computed in log space,
where the products are sums of softplus(f) = log(1 + e^f), for numpy arrays and torch tensors alike; torch results are
differentiable.

A `Head` is one way to read logits: `SLOVA(logits)` is the readout of all classes, `SLOVA.top(logits)` only the top
class of each row, without a result of shape (N, K). `HEADS` finds a head by its name.

>>> import numpy as np
>>> logits = np.array([[3.0, -3.0], [2.0, 2.0], [-2.0, -2.0]])     # one class fits, both fit, none fits
>>> isinstance(SLOVA, Head), SLOVA(logits).log_none.round(3)       # a Readout: log_probs, log_none
(True, array([-3.097, -4.254, -0.254]))
>>> isinstance(SLOVA.top(logits), Top), np.exp(SLOVA.top(logits).log_confidence).round(3)
(True, array([0.907, 0.105, 0.105]))
>>> [np.exp(head(logits[:1]).log_probs).round(3).tolist() for head in (SLOVA, OVA, SOFTMAX)]
[[[0.907, 0.002]], [[0.953, 0.047]], [[0.998, 0.002]]]
>>> [np.exp(head(np.array([[0.8, 0.2]])).log_none).round(3) for head in (PROBABILITIES, OVA_PROBABILITIES)]
[array([0.]), array([0.16])]
>>> [np.exp(head(np.array([[0.3]])).log_probs).round(3) for head in (BINARY, BINARY_PROBABILITIES)]
[array([[0.426, 0.574]]), array([[0.7, 0.3]])]
"""

from __future__ import annotations

import math
from dataclasses import replace

from slova._backend import Array, Backend
from slova._head import Head, Readout, Top
from slova._types import BatchFloats, Logits, LogProbs
from slova._validation import NONE, check_logits

__all__ = [
    "BINARY",
    "BINARY_PROBABILITIES",
    "HEADS",
    "NONE",
    "OVA",
    "OVA_PROBABILITIES",
    "PROBABILITIES",
    "SLOVA",
    "SOFTMAX",
    "Head",
    "Readout",
    "Top",
    "find_head",
    "log_multilabel",
    "log_none",
    "log_ova",
    "log_several",
    "log_slova",
    "log_softmax",
    "top_and_none",
]

INF = float("inf")


def find_head(head: str | Head) -> Head:
    """The head of this name; a head is returned as it is.

    >>> find_head("softmax") is SOFTMAX
    True
    """
    if isinstance(head, Head):
        return head
    if not isinstance(head, str) or head not in HEADS:
        raise ValueError(f"head must be a Head or one of auto, {', '.join(HEADS)}, got {head!r}")
    return HEADS[head]


def log_softmax(logits: Logits) -> LogProbs:
    """log of softmax: SLOVA given that exactly one class fits. Computed from the top class, so that a probability near
    one keeps its digits: log P(top) = -log1p(sum_{j != top} e^(f_j - f_top)).

    >>> import numpy as np
    >>> np.exp(log_softmax(np.log([[2.0, 6.0]])))
    array([[0.25, 0.75]])
    """
    return _softmax(*check_logits(logits))


def log_ova(logits: Logits) -> LogProbs:
    """log p_k = log sigmoid(f_k).

    >>> import numpy as np
    >>> np.exp(log_ova(np.array([[0.0, 2.0]]))).round(3)
    array([[0.5  , 0.881]])
    """
    return _ova(*check_logits(logits))


def log_slova(logits: Logits) -> LogProbs:
    """log P(k) = f_k - sum_j softplus(f_j)  (Eq. 3), computed from the top class, so that nothing cancels:

    log P(top) = -softplus(-f_top) - sum_{j != top} softplus(f_j),   log P(k) = log P(top) + (f_k - f_top).

    >>> import numpy as np
    >>> np.exp(log_slova(np.array([[9.0, -9.0], [9.0, 9.0], [-9.0, -9.0]]))).round(3)  # one fits, both fit, none fits
    array([[1., 0.],
           [0., 0.],
           [0., 0.]])
    """
    return _slova(*check_logits(logits))


def log_none(logits: Logits) -> BatchFloats:
    """log P(none) = -sum_j softplus(f_j).

    >>> import numpy as np
    >>> np.exp(log_none(np.array([[0.0, 0.0], [-9.0, -9.0]]))).round(3)
    array([0.25, 1.  ])
    """
    return _none(*check_logits(logits))


def log_several(logits: Logits) -> BatchFloats:
    """log P(several), a sum over the first class j to fit beside exactly one of the top class and those before j.

    P(several) = sum_{j != top} p_j P(exactly one of top and the classes before j); all terms are positive, so nothing
    cancels.

    >>> import numpy as np
    >>> np.exp(log_several(np.array([[0.0, 0.0], [9.0, 9.0]]))).round(3)
    array([0.25, 1.  ])
    """
    return _several(*check_logits(logits))


def log_multilabel(logits: Logits) -> BatchFloats:
    """log of the probability of the likeliest *set* of labels, {k: p_k >= 1/2}  (Remark 3.1).

    >>> import numpy as np
    >>> np.exp(log_multilabel(np.array([[9.0, 9.0, -9.0]]))).round(3)
    array([1.])
    """
    logits, ops = check_logits(logits)
    return -ops.softplus(-abs(logits)).sum(-1)


def top_and_none(top: BatchFloats, rest: BatchFloats, ops: Backend) -> tuple[BatchFloats, BatchFloats]:
    """log P(top) and log P(none) of SLOVA from the largest logit and rest = sum_{j != top} softplus(f_j)."""
    return -rest - ops.softplus(-top), -rest - ops.softplus(top)


def _softmax(logits: Array, ops: Backend) -> Array:
    top, index = ops.top(logits)
    shifted = ops.minus(logits, top)
    rival_odds = ops.exp(ops.put(shifted, index, ops.full(top, -INF)))
    return shifted - ops.log1p(rival_odds.sum(-1))[..., None]


def _softmax_log_odds(logits: Array, ops: Backend) -> Array:
    """log p - log(1 - p), where 1 - p is the sum of the others, so that a probability near one keeps its digits."""
    log_probs = _softmax(logits, ops)
    top, index = ops.top(log_probs)
    others = ops.logsumexp(ops.put(log_probs, index, ops.full(top, -INF)))[..., None]
    rest = ops.put(ops.log1mexp(ops.clip(log_probs, None, -math.log(2))), index, others)
    return ops.minus(log_probs, rest)


def _ova(logits: Array, ops: Backend) -> Array:
    return -ops.softplus(-logits)


def _slova(logits: Array, ops: Backend) -> Array:
    top, index = ops.top(logits)
    return ops.minus(logits, top) - ops.softplus(ops.put(logits, index, -top)).sum(-1)[..., None]


def _slova_top(logits: Array, ops: Backend) -> Top:
    top, index = ops.top(logits)
    rest = ops.drop(ops.softplus(logits), index).sum(-1)
    return Top(index[..., 0], *top_and_none(top[..., 0], rest, ops))


def _none(logits: Array, ops: Backend) -> Array:
    return -ops.softplus(logits).sum(-1)


def _several(logits: Array, ops: Backend) -> Array:
    top, index = ops.top(logits)
    nothing = ops.full(top, -INF)
    others = ops.put(logits, index, nothing)
    rival_odds = ops.exp(ops.put(ops.minus(logits, top), index, nothing))
    exactly_one = (
        ops.log1p(ops.cumsum_before(rival_odds)) - ops.softplus(-top) - ops.cumsum_before(ops.softplus(others))
    )
    return ops.logsumexp(ops.put(exactly_one - ops.softplus(-logits), index, nothing))


def _log(probs: Array, ops: Backend) -> Array:
    return ops.log(probs)


def _logit(probs: Array, ops: Backend) -> Array:
    return ops.log(probs) - ops.log(1 - probs)


def _two_logits(logits: Array, ops: Backend) -> Array:
    return ops.append(ops.full(logits, 0.0), logits[..., 0])


def _two_log_probs(probs: Array, ops: Backend) -> Array:
    return ops.append(ops.log(1 - probs), ops.log(probs)[..., 0])


SLOVA = Head(
    name="slova",
    kind="one-vs-all",
    log_probs=_slova,
    log_none=_none,
    log_several=_several,
    top_formula=_slova_top,
    order_preserving=True,
)
"""This class and no other: the readout of the paper."""
OVA = replace(SLOVA, name="ova", log_probs=_ova, top_formula=None)
"""One-vs-all: each class by itself, so that a row can sum to more than one."""
SOFTMAX = Head(name="softmax", kind="softmax", log_probs=_softmax, order_preserving=True, log_odds=_softmax_log_odds)
"""Softmax, of logits or of log-probabilities: none and several are impossible."""
PROBABILITIES = replace(SOFTMAX, name="probabilities", kind="probabilities", to_logits=_log)
"""Probabilities whose rows sum to one."""
OVA_PROBABILITIES = replace(SLOVA, name="ova_probabilities", kind="one-vs-all probabilities", to_logits=_logit)
"""One-vs-all probabilities, each class by itself."""
BINARY = replace(SOFTMAX, name="binary", kind="one logit", columns=1, to_logits=_two_logits)
"""One logit per row, of class 1 against class 0."""
BINARY_PROBABILITIES = replace(BINARY, name="binary_probabilities", kind="one probability", to_logits=_two_log_probs)
"""One probability per row, that of class 1."""
HEADS = {h.name: h for h in (SLOVA, OVA, SOFTMAX, PROBABILITIES, OVA_PROBABILITIES, BINARY, BINARY_PROBABILITIES)}
"""Every head by its name."""
