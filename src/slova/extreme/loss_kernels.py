# mypy: ignore-errors
"""The kernel over every class of a chunk of logits (N, C): the loss with its derivative."""

from __future__ import annotations

import torch
from torch import Tensor

from slova.extreme.arithmetic import decay, jit, log1p, on_device_of, tl, triton

__all__ = ["loss_and_slope"]

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
