# mypy: ignore-errors
"""The answer of a posterior or temperature calibrator from rows of logits (N, K), in one kernel on a GPU.

A program reads a few rows, in tiles of `block` classes; the first tile stays in registers, so up to 1,024 classes are
read once. A first pass finds the largest logit and, for softmax, the logarithm of the summed exponentials of all
others; a second one the scores S of the classes. Every lane keeps its largest score and adds up the others relative to
it, exp(S - top) and (S - top) exp(S - top), for the confidence and for the entropy. Infinite logits are taken for the
largest finite number, so that no difference is NaN unless a logit is.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from slova.extreme.arithmetic import decay, exp, jit, log, log1p, on_device_of, one_minus_exp, tl, triton
from slova.extreme.posterior_scores import floor, load, scores

__all__ = ["ABSENT", "EVIDENCE", "MODEL", "Numbers", "posterior_rows"]

ABSENT, EVIDENCE, MODEL = 0, 1, 2  # where P(none) comes from
WIDEST, NUMBERS, WARPS = 1024, 1024, 4  # classes of a tile, numbers of a program
NARROWEST = 16  # classes of a matrix product


class Numbers(NamedTuple):
    """What a kernel needs of a calibrator. `classes` (3, K), `pairs` (K, K) and `per_row` (3, N), which are a and b
    before their floor and what distances add to the logit of NONE, are on the device; a, b and none are numbers."""

    a: float
    b: float = 0.0
    scale: float = 1.0
    smoothing: float = 0.0
    none: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 0.0)
    classes: Tensor | None = None
    pairs: Tensor | None = None
    per_row: Tensor | None = None


def posterior_rows(
    logits: Tensor,
    numbers: Numbers,
    affine: tuple[float, float],
    reject: float,
    *,
    softmax: bool,
    source: int,
    logs: bool = False,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """The fields of a `Prediction` of contiguous logits (N, K). softmax: whether the logits are those of a softmax;
    source: of P(none); logs: give the logarithm of the confidence in its place."""
    rows, classes = logits.shape
    label, top = (torch.empty(rows, dtype=torch.int64, device=logits.device) for _ in range(2))
    confidence, none, ambiguous = (torch.empty(rows, dtype=torch.float32, device=logits.device) for _ in range(3))
    block = min(triton.next_power_of_2(classes), WIDEST)
    block = block if numbers.pairs is None else max(block, NARROWEST)
    own = (part if part is not None else logits for part in (numbers.classes, numbers.pairs, numbers.per_row))
    with on_device_of(logits):
        _posterior[(triton.cdiv(rows, NUMBERS // block),)](
            logits, label, confidence, none, ambiguous, top, *own, rows, *affine, numbers.a, numbers.b, numbers.scale,
            numbers.smoothing, *numbers.none, reject,
            K=classes, ROWS=NUMBERS // block, BLOCK=block, TILES=triton.cdiv(classes, block),
            AFFINE=affine != (1.0, 0.0), SOFTMAX=softmax, LINEAR=numbers.classes is None,
            SMOOTH=numbers.smoothing > 0, PAIRS=numbers.pairs is not None, DISTANCES=numbers.per_row is not None,
            SOURCE=source, LOGS=logs, num_warps=WARPS,
        )  # fmt: skip
    return label, confidence, none, ambiguous, top


@jit
def _posterior(
    logits, label, confidence, none, ambiguous, top, classes, pairs, per_row, rows, before_scale, before_offset,
    a, b, scale, smoothing, v, u, r, h, reject,
    K: tl.constexpr, ROWS: tl.constexpr, BLOCK: tl.constexpr, TILES: tl.constexpr, AFFINE: tl.constexpr,
    SOFTMAX: tl.constexpr, LINEAR: tl.constexpr, SMOOTH: tl.constexpr, PAIRS: tl.constexpr, DISTANCES: tl.constexpr,
    SOURCE: tl.constexpr, LOGS: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    lane = tl.arange(0, BLOCK)[None, :]
    start, inside = logits + row[:, None] * K, (row < rows)[:, None]
    first = load(start, inside, lane, before_scale, before_offset, K, AFFINE)
    highest, index, rest, lowest = _extremes(
        first, start, inside, lane, before_scale, before_offset, K, ROWS, BLOCK, TILES, AFFINE, SOFTMAX, DISTANCES
    )
    a, b = tl.full([ROWS], 1.0, tl.float32) * a, tl.full([ROWS], 1.0, tl.float32) * b
    more = tl.full([ROWS], 0.0, tl.float32)
    if DISTANCES:
        least = floor(highest, rest, lowest, SOFTMAX)
        a = tl.load(per_row + row, mask=row < rows, other=0.0)
        b = tl.load(per_row + (row + rows), mask=row < rows, other=0.0)
        more = tl.load(per_row + (row + rows + rows), mask=row < rows, other=0.0)
        a, b = tl.where(a > least, a, least), tl.where(b > least, b, least)
    odds, tilt, spread, place = _sums(
        first, start, inside, lane, before_scale, before_offset, highest, index, rest, classes, pairs, a, b, scale,
        smoothing, K, ROWS, BLOCK, TILES, AFFINE, SOFTMAX, LINEAR, SMOOTH, PAIRS, SOURCE,
    )  # fmt: skip
    unlikely, left, empty = _shares(highest, odds, tilt, spread, more, v, u, r, h, SOURCE)
    sure = exp(-unlikely)
    if LINEAR:  # keeps the order of the logits
        place = index
    place = tl.minimum(place, K - 1)
    tl.store(label + row, tl.where(sure >= reject, place, -1).to(tl.int64), mask=row < rows)
    tl.store(confidence + row, -unlikely if LOGS else sure, mask=row < rows)
    tl.store(none + row, empty, mask=row < rows)
    tl.store(ambiguous + row, left - empty, mask=row < rows)
    tl.store(top + row, place.to(tl.int64), mask=row < rows)


@jit
def _shares(highest, odds, tilt, spread, more, v, u, r, h, SOURCE: tl.constexpr):
    """-log of the confidence, one minus it, and P(none)."""
    unlikely = log1p(odds)  # given one of the classes, so far
    empty = tl.zeros_like(odds)
    if SOURCE == 2:
        negative = log(tl.maximum(one_minus_exp(spread), 1e-30))
        logit = v - u * spread - r * negative + h * (unlikely - tilt / (1.0 + odds)) + more
        small = log1p(decay(logit))
        unlikely = unlikely + (tl.maximum(logit, 0.0) + small)
        empty = exp(-(tl.maximum(-logit, 0.0) + small))
    left = one_minus_exp(unlikely)
    if SOURCE == 1:  # the share of P_raw(none) in everything but the top class
        small = log1p(decay(highest))
        raw = exp(-spread - (tl.maximum(highest, 0.0) + small))
        others = one_minus_exp(spread + (tl.maximum(-highest, 0.0) + small))
        empty = left * tl.where(others > raw, raw / others, 1.0)
    return unlikely, left, tl.where(empty > left, left, empty)


@jit
def _extremes(
    first, start, inside, lane, scale, offset, K: tl.constexpr, ROWS: tl.constexpr, BLOCK: tl.constexpr,
    TILES: tl.constexpr, AFFINE: tl.constexpr, SOFTMAX: tl.constexpr, DISTANCES: tl.constexpr,
):  # fmt: skip
    """The largest logit, its class, the log of the sum of exponentials of all others, less that logit, and the smallest
    logit; NaN is passed over."""
    known = (first == first) & (lane < K)
    top, low = tl.where(known, first, -3.4e38), tl.where(known, first, 3.4e38)
    place = tl.zeros([ROWS, BLOCK], tl.int32) + lane
    level, odds = tl.full([ROWS, BLOCK], -3.4e38, tl.float32), tl.zeros([ROWS, BLOCK], tl.float32)
    for number in range(1, TILES):
        column = number * BLOCK + lane
        values = load(start, inside, column, scale, offset, K, AFFINE)
        known = (values == values) & (column < K)
        values = tl.where(known, values, -3.4e38)
        larger = values > top
        if SOFTMAX:
            level, odds = _added(level, odds, tl.where(larger, top, values))
        if DISTANCES:
            low = tl.minimum(low, tl.where(known, values, 3.4e38))
        top, place = tl.where(larger, values, top), tl.where(larger, column, place)
    highest = tl.max(top, 1)
    index = tl.min(tl.where(top == highest[:, None], place, K), 1)
    rest = highest
    if SOFTMAX:
        level, odds = _added(level, odds, tl.where(place == index[:, None], -3.4e38, top))
        most = tl.max(level, 1)
        rest = (most - highest) + log(tl.sum(odds * exp(level - most[:, None]), 1))
    return highest, index, rest, tl.min(low, 1)


@jit
def _added(level, odds, values):
    """log-sum-exp, level + log(odds), with one more value; below -3.3e38 there is none."""
    larger = values > level
    change = decay(values - level)
    one = tl.where(values > -3.3e38, 1.0, 0.0)
    return tl.where(larger, values, level), tl.where(larger, odds * change + one, odds + one * change)


@jit
def _sums(
    first, start, inside, lane, before_scale, before_offset, highest, index, rest, classes, pairs, a, b, scale,
    smoothing, K: tl.constexpr, ROWS: tl.constexpr, BLOCK: tl.constexpr, TILES: tl.constexpr, AFFINE: tl.constexpr,
    SOFTMAX: tl.constexpr, LINEAR: tl.constexpr, SMOOTH: tl.constexpr, PAIRS: tl.constexpr, SOURCE: tl.constexpr,
):  # fmt: skip
    """Sums of exp(S - top) and of (S - top) exp(S - top) over all classes but the top one, the sum of softplus for
    P(none), and the top class."""
    highest, index, rest, a, b = highest[:, None], index[:, None], rest[:, None], a[:, None], b[:, None]
    top, spread = scores(
        first, lane, highest, index, rest, classes, pairs, a, b, scale, smoothing,
        K, BLOCK, SOFTMAX, LINEAR, SMOOTH, PAIRS, SOURCE,
    )  # fmt: skip
    place = tl.zeros([ROWS, BLOCK], tl.int32) + lane
    odds = tl.where(top == top, 0.0, top)
    tilt = tl.zeros([ROWS, BLOCK], tl.float32)
    top = tl.where(top == top, top, -1e30)
    for number in range(1, TILES):
        column = number * BLOCK + lane
        values = load(start, inside, column, before_scale, before_offset, K, AFFINE)
        score, more = scores(
            values, column, highest, index, rest, classes, pairs, a, b, scale, smoothing,
            K, BLOCK, SOFTMAX, LINEAR, SMOOTH, PAIRS, SOURCE,
        )  # fmt: skip
        spread += more
        larger, e = score > top, decay(score - top)
        away = tl.where(larger, top - score, score - top)
        tilt = tl.where(larger, e * (tilt + away * (odds + 1.0)), tilt + e * away)
        odds = tl.where(larger, e * (odds + 1.0), odds + e)
        top, place = tl.where(larger, score, top), tl.where(larger, column, place)
    best = tl.max(top, 1)
    winner = tl.min(tl.where(top == best[:, None], place, K), 1)
    away = top - best[:, None]
    e, count = exp(away), odds + tl.where(place == winner[:, None], 0.0, 1.0)
    return tl.sum(e * count, 1), tl.sum(e * (tilt + away * count), 1), tl.sum(spread, 1), winner
