"""The model of NONE of `PosteriorCalibration`.

    logit P(none) = v + u log P_raw(none) - r log(1 - P_raw(none)) + h H + w d

Without r the logit has an upper bound, because log P_raw(none) has: 0, where no class fits at all. r is another number
to fit, so it is taken only where rows that the fit did not see become likelier by enough; it is 0 otherwise.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from slova._backend import NUMPY, Array, Backend
from slova.calibration._newton import bounded_logistic
from slova.calibration._posterior_fit import LIMIT

Vector = NDArray[np.float64]

GAIN = 0.01  # of the negative log-likelihood on rows not seen, by which r must lower it; and one standard error


def none_features(log_odds: Array, log_probs: Array, distances: Array | None, ops: Backend) -> list[Array]:
    """log P_raw(none), the entropy of the class part, and the distances."""
    evidence = -ops.softplus(ops.clip(log_odds, -LIMIT, LIMIT)).sum(-1)
    entropy = -(ops.exp(log_probs) * log_probs).sum(-1)
    return [evidence, entropy, *([] if distances is None else [distances[..., j] for j in range(distances.shape[-1])])]


def fit_none(
    features: list[Array], is_none: NDArray[np.bool_], weight: Vector, none_share: float | None, folds: Iterable[Vector]
) -> tuple[Vector, float, float]:
    """v, u, h and w; r; and the prior of NONE, which is one number in v. folds: how often each row counts in each."""
    hits = is_none.astype(np.float64)
    share = float(weight @ hits / weight.sum())
    prior = share if none_share is None else float(none_share)
    if not 0 < prior < 1:
        raise ValueError(f"none_share must lie between 0 and 1, got {prior}")
    plain = np.column_stack(features)
    whole = np.column_stack([plain, -NUMPY.log1mexp(features[0])])
    if _is_better(whole, plain, hits, weight, folds):
        *numbers, negative = bounded_logistic(whole, hits, weight)
    else:
        numbers, negative = list(bounded_logistic(plain, hits, weight)), 0.0
    numbers[0] += np.log(prior / (1 - prior)) - np.log(share / (1 - share))
    return np.array(numbers), float(negative), prior


def _is_better(whole: Vector, plain: Vector, hits: Vector, weight: Vector, folds: Iterable[Vector]) -> bool:
    """Whether the first features are, by enough, on rows that their fit did not see."""
    seen, gain, loss = np.zeros(len(hits)), np.zeros(len(hits)), 0.0
    for held_out in folds:
        rest = np.maximum(weight - held_out, 0.0)
        if not 0 < rest @ hits < rest.sum():
            return False
        losses = [_nll(features, bounded_logistic(features, hits, rest), hits) for features in (plain, whole)]
        seen += held_out
        gain += held_out * (losses[0] - losses[1])
        loss += float(held_out @ losses[0])
    each = np.divide(gain, seen, out=np.zeros_like(seen), where=seen > 0)
    mean = gain.sum() / seen.sum()
    error = np.sqrt(seen @ (each - mean) ** 2) / seen.sum()
    return bool(mean > max(error, GAIN * loss / seen.sum()))


def _nll(features: Vector, numbers: Vector, hits: Vector) -> Vector:
    logit = numbers[0] + features @ numbers[1:]
    return np.asarray(np.logaddexp(0, np.where(hits > 0, -logit, logit)))
