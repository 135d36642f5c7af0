"""The model of NONE of `PosteriorCalibration`: logit P(none) = v + u log P_raw(none) + h H + w d."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from slova._backend import Array, Backend
from slova.calibration._newton import bounded_logistic
from slova.calibration._posterior_fit import LIMIT

__all__ = ["fit_none", "none_features"]


def none_features(log_odds: Array, log_probs: Array, distances: Array | None, ops: Backend) -> list[Array]:
    """log P_raw(none), the entropy of the class part, and the distances."""
    evidence = -ops.softplus(ops.clip(log_odds, -LIMIT, LIMIT)).sum(-1)
    entropy = -(ops.exp(log_probs) * log_probs).sum(-1)
    return [evidence, entropy, *([] if distances is None else [distances[..., j] for j in range(distances.shape[-1])])]


def fit_none(
    features: list[Array], is_none: NDArray[np.bool_], weight: NDArray[np.float64], none_share: float | None
) -> tuple[NDArray[np.float64], float]:
    """v, u, h and w, and the prior of NONE, which is one number in v."""
    hits = is_none.astype(np.float64)
    share = float(weight @ hits / weight.sum())
    prior = share if none_share is None else float(none_share)
    if not 0 < prior < 1:
        raise ValueError(f"none_share must lie between 0 and 1, got {prior}")
    numbers = bounded_logistic(np.column_stack(features), hits, weight)
    numbers[0] += np.log(prior / (1 - prior)) - np.log(share / (1 - share))
    return numbers, prior
