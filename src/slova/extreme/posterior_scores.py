# mypy: ignore-errors
"""The scores of `PosteriorCalibration` for a tile of logits, in a kernel."""

from __future__ import annotations

from slova.extreme.arithmetic import decay, exp, jit, log, log1p, tl

__all__ = ["floor", "load", "scores"]


@jit
def load(start, inside, column, scale, offset, K: tl.constexpr, AFFINE: tl.constexpr):
    values = tl.load(start + column, mask=inside & (column < K), other=0.0).to(tl.float32)
    if AFFINE:
        values = values * scale + offset
    return _clip(values, 3e38)


@jit
def _clip(values, limit):
    """Within +-limit; NaN stays."""
    values = tl.where(values > limit, limit, values)
    return tl.where(values < -limit, -limit, values)


@jit
def _log_odds(values, own, highest, rest, SOFTMAX: tl.constexpr):
    """log p - log(1 - p); for softmax 1 - p is the sum of the others."""
    if SOFTMAX:
        away = values - highest
        total = 1.0 + exp(rest)
        others = total - exp(away)
        others = tl.where(others < 0.5 * total, 0.5 * total, others)  # p of the others is at most 1/2
        values = tl.where(own, -rest, away - log(others))
    return _clip(values, 1e4)


@jit
def floor(highest, rest, lowest, SOFTMAX: tl.constexpr):
    most = _log_odds(highest, highest == highest, highest, rest, SOFTMAX)
    least = _log_odds(lowest, lowest != lowest, highest, rest, SOFTMAX)
    return 0.01 / (1.0 + most - least)


@jit
def scores(
    values, column, highest, index, rest, classes, pairs, a, b, scale, smoothing,
    K: tl.constexpr, BLOCK: tl.constexpr, SOFTMAX: tl.constexpr, LINEAR: tl.constexpr, SMOOTH: tl.constexpr,
    PAIRS: tl.constexpr, SOURCE: tl.constexpr,
):  # fmt: skip
    """`PosteriorCalibration._scores` of a tile, and its part of the sum of softplus."""
    inside = column < K
    log_odds = _log_odds(values, column == index, highest, rest, SOFTMAX)
    if LINEAR:
        score = a * (values - highest)
    else:
        x = _clip(scale * log_odds, 36.0)
        e, mean = decay(x), 0.5 * (a + b)
        if SMOOTH:
            constant, share = log1p(2.0 * smoothing), 1.0 / (1.0 + e)
            log_p = log(tl.where(x > 0.0, share, e * share) + smoothing) - constant
            minus_log_q = constant - log(tl.where(x > 0.0, e * share, share) + smoothing)
        else:
            small = log1p(e)
            log_p, minus_log_q = tl.minimum(x, 0.0) - small, tl.maximum(x, 0.0) + small
        score = tl.maximum(a + mean * tl.load(classes + column, mask=inside, other=0.0), 0.0) * log_p
        score += tl.maximum(b + mean * tl.load(classes + K + column, mask=inside, other=0.0), 0.0) * minus_log_q
        score += mean * tl.load(classes + 2 * K + column, mask=inside, other=0.0)
        if PAIRS:
            line = tl.arange(0, BLOCK)[:, None]
            matrix = tl.load(pairs + line * K + column, mask=(line < K) & inside, other=0.0)
            score += mean * tl.dot(tl.where(inside, log_p, 0.0), matrix, input_precision="ieee")
    score = tl.where(score < -1e30, -1e30, score)  # a finite number: no difference is NaN
    spread = tl.zeros_like(score)
    if SOURCE == 1:
        spread = tl.where(inside & (column != index), tl.maximum(values, 0.0) + log1p(decay(values)), 0.0)
    if SOURCE == 2:
        x = _clip(log_odds, 36.0)
        spread = tl.where(inside, tl.maximum(x, 0.0) + log1p(decay(x)), 0.0)
    return tl.where(inside, score, -1e30), spread
