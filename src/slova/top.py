"""Only the top class of each row: label, log P(top) and log P(none) of the SLOVA read-out in one pass over the logits.

The same numbers as `read_slova`, without its (N, K) result: rows go through in pieces of a few megabytes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from slova._backend import Array, floating

__all__ = ["Top", "by_pieces", "top_slova"]

PIECE = 1 << 21  # numbers at a time: a few megabytes, far below what a whole result would touch


class Top(NamedTuple):
    """The most probable class, the log of its probability, and log P(none), one of each a row."""

    label: Array
    log_confidence: Array
    log_none: Array


def top_slova(logits: Array) -> Top:
    """log P(top) = -rest - softplus(-f_top), log P(none) = -rest - softplus(f_top), rest = sum_{j != top}
    softplus(f_j)."""
    return Top(*by_pieces(_top, logits))


def by_pieces(function: Callable[[Array], tuple[Array, ...]], logits: Array) -> tuple[Array, ...]:
    """What a function of logits (..., K) says of each row (...), large arrays on the host taken a piece at a time."""
    logits, ops = floating(logits, "logits")
    on_host = isinstance(logits, np.ndarray) or (logits.device.type == "cpu" and not logits.requires_grad)
    known = all(isinstance(size, int) for size in logits.shape)  # while a program is traced, its batch has no size yet
    if not on_host or not known or int(np.prod(logits.shape)) <= 2 * PIECE:
        return function(logits)
    flat, rows = logits.reshape(-1, logits.shape[-1]), max(1, PIECE // logits.shape[-1])
    pieces = [function(flat[first : first + rows]) for first in range(0, len(flat), rows)]
    return tuple(ops.concatenate(parts).reshape(logits.shape[:-1]) for parts in zip(*pieces, strict=True))


def _top(logits: Array) -> Top:
    logits, ops = floating(logits, "logits")
    top, index = ops.top(logits)
    rest = ops.drop(ops.softplus(logits), index).sum(-1)
    top = top[..., 0]
    return Top(index[..., 0], -rest - ops.softplus(-top), -rest - ops.softplus(top))
