"""A head as a value: the formulas by which it reads logits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from slova._backend import Array, Backend, in_chunks
from slova._types import BatchFloats, BatchLabels, Logits, LogProbs, TopIndex, Values
from slova._validation import check_logits

INF = float("inf")

Formula = Callable[[Array, Backend], Array]


def _themselves(logits: Array, _: Backend) -> Array:
    return logits


class Readout(NamedTuple):
    """Log-probabilities of the classes (..., K), and of none of them (...), which those K do not determine."""

    log_probs: LogProbs
    log_none: BatchFloats


class Top(NamedTuple):
    """The most probable class, the log of its probability, and log P(none), each of shape (...)."""

    label: BatchLabels
    log_confidence: BatchFloats
    log_none: BatchFloats


@dataclass(frozen=True, kw_only=True)
class Head:
    """A way to read logits (..., K) as log-probabilities.

    Its formulas take logits that were checked and their `slova._backend` primitives:

    name: the word for it in Python, on the command line and in files.
    kind: what it reads, in words.
    log_probs: the log-probability of each class (..., K).
    log_none, log_several: those of no class and of several classes (...); None where the head rules them out.
    top_formula: the top class without the other ones; None takes it from `log_probs`.
    order_preserving: whether the largest logit is always the most probable class. It is then the label, even where
        rounding ties log-probabilities.
    log_odds: the log-odds of each class (..., K), to which the default calibrator is fitted; by default the logits.
    to_logits: makes logits of values of another kind, such as probabilities; None: the values are logits.
    columns: how many values a row has; None: one per class.
    """

    name: str
    log_probs: Formula
    log_none: Formula | None = None
    log_several: Formula | None = None
    top_formula: Callable[[Array, Backend], Top] | None = None
    order_preserving: bool = False
    log_odds: Formula = _themselves
    to_logits: Formula | None = None
    columns: int | None = None
    kind: str = "own head"

    def __call__(self, values: Values) -> Readout:
        return self.readout(*self.check(values))

    def top(self, values: Values) -> Top:
        """The most probable class of each row; large arrays on the host are taken in chunks."""
        return Top(*in_chunks(self.read_top, *self.check(values)))

    def check(self, values: Values, classes: int | None = None) -> tuple[Logits, Backend]:
        """The logits of values that a user gives, and their primitives; one value per row may lack the last axis."""
        values = values[:, None] if self.columns == 1 and getattr(values, "ndim", 0) == 1 else values
        logits, ops = check_logits(values, self.columns or classes)
        return (logits if self.to_logits is None else self.to_logits(logits, ops)), ops

    def readout(self, logits: Logits, ops: Backend) -> Readout:
        """The same as calling the head, for logits that were checked."""
        log_probs = self.log_probs(logits, ops)
        return Readout(log_probs, self._or_impossible(self.log_none, logits, ops))

    def read_top(self, logits: Logits, ops: Backend) -> Top:
        """The same as `top`, for logits that were checked."""
        if self.top_formula is not None:
            return self.top_formula(logits, ops)
        log_probs, log_none = self.readout(logits, ops)
        index = self.top_index(logits, log_probs, ops)
        return Top(index[..., 0], ops.take(log_probs, index)[..., 0], log_none)

    def top_index(self, logits: Logits, log_probs: LogProbs, ops: Backend) -> TopIndex:
        """The most probable class of each row, last axis kept."""
        return ops.top(logits if self.order_preserving else log_probs)[1]

    def several(self, logits: Logits, ops: Backend) -> BatchFloats:
        """log P(several), -inf where the head rules it out, for logits that were checked."""
        return self._or_impossible(self.log_several, logits, ops)

    def _or_impossible(self, formula: Formula | None, logits: Array, ops: Backend) -> Array:
        return ops.full(logits[..., 0], -INF) if formula is None else formula(logits, ops)
