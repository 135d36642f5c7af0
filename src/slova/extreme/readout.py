"""Predictions of a last layer without its logits: the states of chunks of classes, merged.

For a set of classes let `top` be its largest logit and `rest` the sum of softplus over its others. Then log P(top) =
-rest - softplus(-top) and log P(none) = -rest - softplus(top), as in `slova.heads`. Two sets make one by keeping the
larger top and adding softplus of the smaller to the rests.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from slova._backend import TORCH, of
from slova._outcomes import outcome_of_top
from slova._validation import NONE_INDEX, check_share
from slova.calibration import AffineCalibration
from slova.extreme.chunks import Linear, chunks, fused, linear
from slova.heads import SLOVA, Top, top_and_none
from slova.prediction import Prediction
from slova.scorer import Scorer

__all__ = ["check", "finish", "predict", "top"]


@torch.no_grad()
def top(features: Tensor, matrix: Tensor, *, bias: Tensor | None = None) -> Top:
    """`SLOVA.top(features @ matrix.T + bias)` without those logits and without gradients."""
    return _read(linear(features, matrix, bias), None).top_of(features.shape[:-1])


@torch.no_grad()
def predict(
    scorer: Scorer, features: Tensor, matrix: Tensor, *, bias: Tensor | None = None, reject: float = 0.0
) -> Prediction:
    """`scorer.predict(features @ matrix.T + bias, reject=reject)` without those logits, for the SLOVA head and
    elementwise calibrators."""
    layer = linear(features, matrix, bias)
    check(scorer, len(matrix))
    check_share(reject, "reject")  # before all the work
    return finish(scorer, _read(layer, scorer.before).top_of(features.shape[:-1]), reject)


def check(scorer: Scorer, classes: int) -> None:
    """Raise unless the scorer has this number of classes and needs only the top class of a row."""
    if scorer.classes != classes:
        raise ValueError(f"the scorer has {scorer.classes} classes, the matrix has {classes}")
    if scorer.head != SLOVA or not (scorer.calibrator is None or scorer.calibrator.elementwise):
        raise ValueError("the scorer must have the SLOVA head and an elementwise calibrator")


def finish(scorer: Scorer, top: Top, reject: float) -> Prediction:
    """The answer from the top class alone, as `Scorer.predict` has it."""
    check_share(reject, "reject")
    ops = of(top.log_none)
    label, confidence, none, ambiguous = outcome_of_top(scorer, None, ops, top)
    rejected = ops.where(confidence >= reject, label, ops.full(label, NONE_INDEX))
    return Prediction(rejected, confidence, none, ambiguous, label)


class _State(NamedTuple):
    """The state of a set of classes, one number per row, in float64 because thousands of sets are merged."""

    top: Tensor
    place: Tensor
    rest: Tensor
    dtype: torch.dtype

    def top_of(self, shape: torch.Size) -> Top:
        numbers = (number.to(self.dtype) for number in top_and_none(self.top, self.rest, TORCH))
        return Top(*(number.reshape(shape) for number in (self.place, *numbers)))

    def merge(self, other: _State) -> _State:
        """The state of both sets; the classes of `other` come later. Of equal logits the first is the top, and NaN is
        above all."""
        larger = (other.top > self.top) | (other.top.isnan() & ~self.top.isnan())
        return _State(
            torch.where(larger, other.top, self.top),
            torch.where(larger, other.place, self.place),
            self.rest + other.rest + TORCH.softplus(torch.where(larger, self.top, other.top)),
            self.dtype,
        )


def _read(layer: Linear, before: AffineCalibration | None) -> _State:
    state: _State | None = None
    with torch.autocast(layer.features.device.type, enabled=False):
        for first, _, logits in chunks(layer):
            new = _state(logits if before is None else before(logits), first)
            state = new if state is None else state.merge(new)
    assert state is not None  # a matrix has at least one row
    return state


def _state(logits: Tensor, first: int) -> _State:
    if fused(logits):
        from slova.extreme.kernels import top_and_rest

        highest, index, rest = top_and_rest(logits)
    else:
        top, place = TORCH.top(logits)
        highest, index, rest = top[:, 0], place[:, 0], TORCH.drop(TORCH.softplus(logits), place).sum(-1)
    return _State(highest.double(), index + first, rest.double(), logits.dtype)
