"""Predictions of a last layer without its logits: the states of chunks of classes, merged.

For a set of classes let `top` be its largest logit and `rest` the sum of softplus over its others. Then log P(top) =
-rest - softplus(-top) and log P(none) = -rest - softplus(top), as in `slova.heads`. Two sets make one by keeping the
larger top and adding softplus of the smaller to the rests. "Exactly one" and "several" merge by sums of positive terms.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from slova._backend import TORCH, Array, of
from slova._validation import check_share
from slova.calibration import AffineCalibration
from slova.extreme.chunks import Linear, chunks, fused, linear
from slova.heads import NONE, SLOVA, Top, log_several, log_slova, top_and_none
from slova.prediction import Prediction
from slova.scorer import Scorer

__all__ = ["check", "finish", "predict", "top"]


@torch.no_grad()
def top(features: Tensor, matrix: Tensor, *, bias: Tensor | None = None) -> Top:
    """`SLOVA.top(features @ matrix.T + bias)` without those logits and without gradients."""
    return _read(linear(features, matrix, bias), None, several=False).top_of(features.shape[:-1])


@torch.no_grad()
def predict(
    scorer: Scorer, features: Tensor, matrix: Tensor, *, bias: Tensor | None = None, reject: float = 0.0
) -> Prediction:
    """`scorer.predict(features @ matrix.T + bias, reject=reject)` without those logits, for the SLOVA head and
    elementwise calibrators."""
    layer = linear(features, matrix, bias)
    check(scorer, len(matrix))
    check_share(reject, "reject")  # before all the work
    state = _read(layer, scorer.before, several=True)
    label, confidence, none = finish(scorer, state.top_of(features.shape[:-1]), reject)
    return Prediction(label, confidence, none, state.log_several.exp().to(none.dtype).reshape(none.shape))


def check(scorer: Scorer, classes: int) -> None:
    """Raise unless the scorer has this number of classes and needs only the top class of a row."""
    if scorer.classes != classes:
        raise ValueError(f"the scorer has {scorer.classes} classes, the matrix has {classes}")
    if scorer.head != SLOVA or not (scorer.calibrator is None or scorer.calibrator.elementwise):
        raise ValueError("the scorer must have the SLOVA head and an elementwise calibrator")


def finish(scorer: Scorer, top: Top, reject: float) -> tuple[Array, Array, Array]:
    """Label, calibrated confidence and P(none) from the top class, as `Scorer.predict` has them."""
    check_share(reject, "reject")
    ops = of(top.log_none)
    pairs = ((scorer.calibrator, top.log_confidence), (scorer.none_calibrator, top.log_none))
    confidence, none = (ops.exp(log if one is None else one(log[..., None])[..., 0]) for one, log in pairs)
    return ops.where(confidence >= reject, top.label, ops.full(top.label, NONE)), confidence, none


class _State(NamedTuple):
    """The state of a set of classes, one number per row, in float64 because thousands of sets are merged."""

    top: Tensor
    place: Tensor
    rest: Tensor
    log_one: Tensor
    log_several: Tensor
    dtype: torch.dtype

    @property
    def log_none(self) -> Tensor:
        none: Tensor = top_and_none(self.top, self.rest, TORCH)[1]
        return none

    def top_of(self, shape: torch.Size) -> Top:
        numbers = (number.to(self.dtype) for number in top_and_none(self.top, self.rest, TORCH))
        return Top(*(number.reshape(shape) for number in (self.place, *numbers)))

    def merge(self, other: _State) -> _State:
        """The state of both sets; the classes of `other` come later. Of equal logits the first is the top, and NaN is
        above all."""
        larger = (other.top > self.top) | (other.top.isnan() & ~self.top.isnan())
        one = torch.logaddexp(self.log_one + other.log_none, self.log_none + other.log_one)
        crossing = torch.logaddexp(self.log_none + other.log_several, self.log_one + TORCH.log1mexp(other.log_none))
        return _State(
            torch.where(larger, other.top, self.top),
            torch.where(larger, other.place, self.place),
            self.rest + other.rest + TORCH.softplus(torch.where(larger, self.top, other.top)),
            one,
            torch.logaddexp(self.log_several, crossing),
            self.dtype,
        )


def _read(layer: Linear, before: AffineCalibration | None, *, several: bool) -> _State:
    state: _State | None = None
    with torch.autocast(layer.features.device.type, enabled=False):
        for first, _, logits in chunks(layer):
            new = _state(logits if before is None else before(logits), first, several=several)
            state = new if state is None else state.merge(new)
    assert state is not None  # a matrix has at least one row
    return state


def _state(logits: Tensor, first: int, *, several: bool) -> _State:
    if fused(logits):
        from slova.extreme.kernels import top_and_rest
        from slova.extreme.loss_kernels import one_and_several

        highest, index, rest = top_and_rest(logits)
        one, more = one_and_several(logits) if several else (rest, rest)
    else:
        top, place = TORCH.top(logits)
        highest, index, rest = top[:, 0], place[:, 0], TORCH.drop(TORCH.softplus(logits), place).sum(-1)
        one, more = _one_and_several(logits) if several else (rest, rest)
    return _State(highest.double(), index + first, rest.double(), one.double(), more.double(), logits.dtype)


def _one_and_several(logits: Tensor) -> tuple[Tensor, Tensor]:
    """log P(exactly one) is the logsumexp of the log P(k), none of which is above it."""
    return torch.logsumexp(log_slova(logits), -1), log_several(logits)
