"""Temperature scaling (Guo et al. 2017): log_softmax(log p / T). Softmax ignores a shift, so log-probabilities serve as
logits."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from slova._backend import Array, floating
from slova._types import Labels, LogProbRows, LogProbs, Weight
from slova._validation import check_rows, check_weight
from slova.heads import NONE, log_softmax

__all__ = ["TemperatureScaling"]

RANGE = (1e-3, 1e3)


@dataclass(frozen=True)
class TemperatureScaling:
    """One positive number for all classes; rows sum to one afterwards and keep their order.

    >>> np.exp(TemperatureScaling(2.0)(np.log([[0.9, 0.1]]))).round(3)
    array([[0.75, 0.25]])
    """

    temperature: float

    name: ClassVar[str] = "temperature"
    takes: ClassVar[str] = "log_probs"
    elementwise: ClassVar[bool] = False
    order_preserving: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not (np.ndim(self.temperature) == 0 and 0 < self.temperature < np.inf):
            raise ValueError(f"the temperature must be one positive number, got {self.temperature}")
        object.__setattr__(self, "temperature", float(self.temperature))

    def __call__(self, log_probs: LogProbs) -> LogProbs:
        log_probs, ops = floating(log_probs, "log_probs")
        return log_softmax(log_probs / ops.like(self.temperature, log_probs))

    @classmethod
    def fit(cls, log_probs: LogProbRows, labels: Labels, *, weight: Weight | None = None) -> TemperatureScaling:
        """The temperature of least NLL: the root of its slope in s = 1/T, in which it is convex. NONE rows are ignored.

        Where the slope has no root (labels at chance, or never wrong) the end of the range 1e-3 ... 1e3 that is better
        is taken, with a warning.
        """
        from scipy.optimize import brentq

        rows = _rows(*check_rows(log_probs, labels), weight)
        low, high = 1 / RANGE[1], 1 / RANGE[0]
        if _slope(low, *rows) >= 0 or _slope(high, *rows) <= 0:
            end = low if _slope(low, *rows) >= 0 else high
            warnings.warn(
                f"no temperature in {RANGE} is best: the labels are at chance, or never wrong",
                UserWarning,
                stacklevel=2,
            )
            return cls(1 / end if _nll(end, *rows) <= _nll(1.0, *rows) else 1.0)
        inverse = brentq(_slope, low, high, args=rows, xtol=1e-12)
        return cls(1 / inverse if _nll(inverse, *rows) <= _nll(1.0, *rows) else 1.0)


def _rows(log_probs: Array, labels: Array, weight: Array | None) -> tuple[Array, Array, Array | None]:
    """Log-probabilities less the top one, that of the label, and the weight. Rows whose label has probability 0 are
    left out: no T changes that."""
    scores = log_probs.astype(np.float64)
    scores = scores - scores.max(axis=1, keepdims=True, where=np.isfinite(scores), initial=-1e300)
    usable = (labels != NONE) & np.isfinite(np.take_along_axis(scores, np.maximum(labels, 0)[:, None], axis=1)[:, 0])
    if weight is not None:
        weight = check_weight(weight, labels)
        usable &= weight > 0
    if not usable.any():
        raise ValueError(f"none of the {len(labels)} rows has a label of positive probability (NONE rows do not count)")
    scores = np.maximum(scores[usable], -1e15)  # finite, so that 0 * log 0 is 0
    own = np.take_along_axis(scores, labels[usable][:, None], axis=1)[:, 0]
    return scores, own, None if weight is None else weight[usable] / weight.max()


def _nll(inverse: float, scores: Array, own: Array, weight: Array | None) -> float:
    return float(np.average(np.log(np.exp(inverse * scores).sum(axis=1)) - inverse * own, weights=weight))


def _slope(inverse: float, scores: Array, own: Array, weight: Array | None) -> float:
    odds = np.exp(inverse * scores)
    return float(np.average((odds * scores).sum(axis=1) / odds.sum(axis=1) - own, weights=weight))
