# mypy: ignore-errors
"""Kernels over every class of a chunk of logits (N, C): the loss with its derivative, one and several."""

from __future__ import annotations

import torch
from torch import Tensor

from slova.extreme.arithmetic import decay, jit, log, log1p, on_device_of, tl, triton

__all__ = ["loss_and_slope", "one_and_several"]

BLOCK = 4096  # classes per program of the loss


def loss_and_slope(logits: Tensor, labels: Tensor, slope: Tensor | None) -> Tensor:
    """-log P(label and no other) of each row, as far as the classes of these logits go; its derivative by the logits is
    written to `slope`, which may be the logits themselves."""
    rows, classes = logits.shape
    blocks = triton.cdiv(classes, BLOCK)
    parts = torch.empty(rows, blocks, dtype=torch.float32, device=logits.device)
    with on_device_of(logits):
        _loss_and_slope[(rows, blocks)](
            logits, labels, parts, logits if slope is None else slope, classes, blocks,
            BLOCK=BLOCK, SLOPE=slope is not None, num_warps=8,
        )  # fmt: skip
    return parts.sum(1, dtype=torch.float64)


def one_and_several(logits: Tensor) -> tuple[Tensor, Tensor]:
    """log P(exactly one class) and log P(several classes) of each row."""
    rows, classes = logits.shape
    one, several = (torch.empty(rows, dtype=torch.float32, device=logits.device) for _ in range(2))
    block = min(1024, triton.next_power_of_2(classes))
    with on_device_of(logits):
        _one_and_several[(rows,)](logits, one, several, K=classes, BLOCK=block, num_warps=4)
    return one, several


@jit
def _loss_and_slope(
    logits, labels, parts, slope, classes, blocks, BLOCK: tl.constexpr, SLOPE: tl.constexpr
):  # fmt: skip
    row = tl.program_id(0).to(tl.int64)
    column = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = column < classes
    values = tl.load(logits + row * classes + column, mask=inside, other=float("-inf"))
    own = inside & (column == tl.load(labels + row))
    values = tl.where(own, -values, values)
    e = decay(values)
    tl.store(parts + row * blocks + tl.program_id(1), tl.sum(tl.maximum(values, 0.0) + log1p(e), 0))
    if SLOPE:
        chance = tl.where(values >= 0.0, 1.0, e) / (1.0 + e)
        chance = tl.where(own, -chance, chance)
        tl.store(slope + row * classes + column, chance.to(slope.dtype.element_ty), mask=inside)


@jit
def _one_and_several(logits, one, several, K: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    lane = tl.arange(0, BLOCK)
    nothing = tl.full([BLOCK], 1.0, tl.float32)
    once = tl.zeros([BLOCK], tl.float32)
    more = tl.zeros([BLOCK], tl.float32)
    for first in range(0, K, BLOCK):
        column = first + lane
        values = tl.load(logits + row * K + column, mask=column < K, other=float("-inf"))
        e = decay(values)
        yes = tl.where(values >= 0.0, 1.0, e) / (1.0 + e)
        no = tl.where(values >= 0.0, e, 1.0) / (1.0 + e)
        nothing, once, more = nothing * no, once * no + nothing * yes, more + once * yes
    nothing, once, more = tl.reduce((nothing, once, more), 0, _either)
    tl.store(one + row, log(once))
    tl.store(several + row, log(more))


@jit
def _either(none, one, several, none_too, one_too, several_too):
    """None, one and several of two sets of classes, from those of each: sums of positive terms."""
    return (
        none * none_too,
        one * none_too + none * one_too,
        several + none * several_too + one * (one_too + several_too),
    )
