# mypy: ignore-errors
"""The kernels that read rows of logits (N, K) on a GPU: the answer from the top class, and the loss with its slope.

A row of logits is read once, in tiles of `block` neighbouring classes, a few rows to a program. Every lane keeps the
largest value it has seen; what is smaller goes into the sum of softplus(f) = max(f, 0) + log(1 + e), e = exp(-|f|), so
the top class never enters the sum and nothing has to be subtracted. The logarithm is expensive: up to 18 factors are
first multiplied as 1 + q <- (1 + q)(1 + e), that is q <- q + e + q e, which keeps the digits of a small q.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from slova.extreme.arithmetic import both, decay, exp, jit, log, log1p, on_device_of, one_minus_exp, tl, triton

__all__ = ["Tile", "loss_and_slope", "score_rows", "tile_for", "top_and_rest"]

UNROLL = 16  # tiles to one logarithm
LOSS_BLOCK = 4096  # classes per program of the loss


class Tile(NamedTuple):
    """How many rows a program reads, how many classes of them at a time, and with how many warps."""

    rows: int
    block: int
    warps: int


def tile_for(classes: int) -> Tile:
    """A lane a row for few classes, neighbouring lanes, a warp and then several warps a row for more."""
    for limit, tile in TILES:
        if classes <= limit:
            return tile
    return WIDEST


# As measured on an H200 by benchmarks/extreme.py --tune.
TILES = (
    (12, Tile(128, 2, 4)),
    (20, Tile(64, 4, 2)),
    (80, Tile(32, 8, 2)),
    (160, Tile(8, 16, 1)),
    (384, Tile(4, 64, 2)),
    (768, Tile(8, 32, 2)),
    (1023, Tile(2, 128, 2)),
    (1536, Tile(4, 128, 4)),
    (3072, Tile(2, 256, 4)),
    (6144, Tile(1, 1024, 4)),
)
WIDEST = Tile(1, 2048, 8)


def score_rows(
    logits: Tensor, maps: tuple[Tensor, Tensor], affine: tuple[float, float], reject: float, tile: Tile
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """The fields of a `Prediction` of logits (N, K). A map is (2, terms), exponents above weights, the exponents after
    the first less the first. No terms of the first leave the confidence as it is; no terms of the second split what is
    left of the confidence like the raw evidence."""
    rows, classes = logits.shape
    label, top = (torch.empty(rows, dtype=torch.int64, device=logits.device) for _ in range(2))
    confidence, none, ambiguous = (torch.empty(rows, dtype=torch.float32, device=logits.device) for _ in range(3))
    grid = (triton.cdiv(rows, tile.rows),)
    with on_device_of(logits):
        _score[grid](
            logits, label, confidence, none, ambiguous, top, *maps, rows, *affine, reject,
            K=classes, ROWS=tile.rows, BLOCK=tile.block, UNROLL=UNROLL,
            TERMS=maps[0].shape[1], NONE_TERMS=maps[1].shape[1], AFFINE=affine != (1.0, 0.0), num_warps=tile.warps,
        )  # fmt: skip
    return label, confidence, none, ambiguous, top


def top_and_rest(logits: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The largest logit of each row, its class, and the sum of softplus over all the others."""
    rows, classes = logits.shape
    tile = tile_for(classes)
    index = torch.empty(rows, dtype=torch.int64, device=logits.device)
    top, rest = (torch.empty(rows, dtype=torch.float32, device=logits.device) for _ in range(2))
    with on_device_of(logits):
        _top_and_rest[(triton.cdiv(rows, tile.rows),)](
            logits, top, index, rest, rows,
            K=classes, ROWS=tile.rows, BLOCK=tile.block, UNROLL=UNROLL, num_warps=tile.warps,
        )  # fmt: skip
    return top, index, rest


@jit
def _score(
    logits, label, confidence, none, ambiguous, top, map, none_map, rows, scale, offset, reject,
    K: tl.constexpr, ROWS: tl.constexpr, BLOCK: tl.constexpr, UNROLL: tl.constexpr,
    TERMS: tl.constexpr, NONE_TERMS: tl.constexpr, AFFINE: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    highest, index, rest = _state(logits, row, rows, scale, offset, K, ROWS, BLOCK, UNROLL, AFFINE)
    small = log1p(decay(highest))
    unlikely = rest + (tl.maximum(-highest, 0.0) + small)  # -log P(top)
    log_sure = _mapped(-unlikely, map, TERMS)
    sure, left = exp(log_sure), one_minus_exp(-log_sure)
    empty = exp(_mapped(-rest - (tl.maximum(highest, 0.0) + small), none_map, NONE_TERMS))
    if NONE_TERMS == 0:  # the share of P(none) in everything but the top class
        others = one_minus_exp(unlikely)
        empty = left * tl.where(others > empty, empty / others, 1.0)
    if TERMS > 0:
        least = 1.0 - K * sure
        empty = tl.where(empty < least, least, empty)
    empty = tl.where(empty > left, left, empty)
    tl.store(label + row, tl.where(sure >= reject, index, -1).to(tl.int64), mask=row < rows)
    tl.store(confidence + row, sure, mask=row < rows)
    tl.store(none + row, empty, mask=row < rows)
    tl.store(ambiguous + row, left - empty, mask=row < rows)
    tl.store(top + row, tl.minimum(index, K - 1).to(tl.int64), mask=row < rows)  # K where all are NaN


@jit
def _top_and_rest(
    logits, top, index, rest, rows,
    K: tl.constexpr, ROWS: tl.constexpr, BLOCK: tl.constexpr, UNROLL: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    highest, place, others = _state(logits, row, rows, 1.0, 0.0, K, ROWS, BLOCK, UNROLL, False)
    tl.store(top + row, highest, mask=row < rows)
    tl.store(index + row, tl.minimum(place, K - 1).to(tl.int64), mask=row < rows)  # K where all are NaN
    tl.store(rest + row, others, mask=row < rows)


@jit
def _state(
    logits, row, rows, scale, offset,
    K: tl.constexpr, ROWS: tl.constexpr, BLOCK: tl.constexpr, UNROLL: tl.constexpr, AFFINE: tl.constexpr,
):  # fmt: skip
    """Top value, its class and the sum of softplus over the others, of each row; NaN anywhere makes that sum NaN."""
    lane = tl.arange(0, BLOCK)[None, :]
    start = logits + row[:, None] * K + lane
    inside = (row < rows)[:, None]
    GROUPS: tl.constexpr = max(K // BLOCK - 1, 0) // UNROLL
    TILES: tl.constexpr = (K + BLOCK - 1) // BLOCK
    top = _tile(start, inside, lane, 0, scale, offset, K, BLOCK, AFFINE)
    place = tl.zeros([ROWS, BLOCK], tl.int32)
    q = tl.zeros([ROWS, BLOCK], tl.float32)
    level = tl.zeros([ROWS, BLOCK], tl.float32)
    if GROUPS > 0:
        for group in range(GROUPS):
            for step in tl.static_range(UNROLL):
                number = 1 + group * UNROLL + step
                values = tl.load(start + number * BLOCK, mask=inside, other=float("-inf")).to(tl.float32)
                if AFFINE:
                    values = values * scale + offset
                top, place, q, level = _fold(top, place, q, level, values, number)
            level += log1p(q)
            q = tl.zeros([ROWS, BLOCK], tl.float32)
    for number in tl.static_range(1 + GROUPS * UNROLL, TILES):
        values = _tile(start, inside, lane, number, scale, offset, K, BLOCK, AFFINE)
        top, place, q, level = _fold(top, place, q, level, values, number)
    column = place * BLOCK + lane
    highest = tl.max(top, 1)
    index = tl.min(tl.where(top == highest[:, None], column, K), 1)
    q, level = _add(q, level, tl.where(column == index[:, None], float("-inf"), top))
    if K <= 120:  # the product of all factors, each at most 2, does not overflow: one logarithm a row
        logs = log1p(tl.reduce(q, 1, both))
    elif BLOCK >= 4:  # neighbours in a thread share a logarithm
        logs = tl.sum(log1p(tl.reduce(tl.reshape(q, [ROWS, BLOCK // 4, 4]), 2, both)), 1)
    else:
        logs = tl.sum(log1p(q), 1)
    return highest, index, logs + tl.sum(level, 1)


@jit
def _tile(
    start, inside, lane, number: tl.constexpr, scale, offset,
    K: tl.constexpr, BLOCK: tl.constexpr, AFFINE: tl.constexpr,
):  # fmt: skip
    if (number + 1) * BLOCK > K:
        inside = inside & (lane < K - number * BLOCK)
    values = tl.load(start + number * BLOCK, mask=inside, other=float("-inf")).to(tl.float32)
    if AFFINE:
        values = values * scale + offset
    return values


@jit
def _fold(top, place, q, level, values, number):
    """The larger of top and values stays on top, the smaller one is added."""
    larger = values > top
    q, level = _add(q, level, tl.where(larger, top, values))
    return tl.where(larger, values, top), tl.where(larger, number, place), q, level


@jit
def _add(q, level, values):
    e = decay(values)
    return both(q, e), level + tl.maximum(values, 0.0)


@jit
def _mapped(log_p, numbers, TERMS: tl.constexpr):
    """ExponentialCalibration.__call__."""
    if TERMS > 0:
        total = tl.zeros_like(log_p) + tl.load(numbers + TERMS)
        for i in tl.static_range(1, TERMS):
            total += tl.load(numbers + TERMS + i) * exp(tl.load(numbers + i) * log_p)
        log_p = tl.load(numbers) * log_p + log(total)
        log_p = tl.where(log_p > 0.0, 0.0, log_p)
    return log_p


def loss_and_slope(logits: Tensor, labels: Tensor, slope: Tensor | None) -> Tensor:
    """-log P(label and no other) of each row, as far as the classes of these logits go; its derivative by the logits is
    written to `slope`, which may be the logits themselves."""
    rows, classes = logits.shape
    blocks = triton.cdiv(classes, LOSS_BLOCK)
    parts = torch.empty(rows, blocks, dtype=torch.float32, device=logits.device)
    with on_device_of(logits):
        _loss_and_slope[(rows, blocks)](
            logits, labels, parts, logits if slope is None else slope, classes, blocks,
            BLOCK=LOSS_BLOCK, SLOPE=slope is not None, num_warps=8,
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
