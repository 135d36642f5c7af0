"""A reject threshold that keeps a promise: at most this share of errors among the answered inputs, or at least this
share answered."""

from __future__ import annotations

import numpy as np

from slova.metrics import Selection

__all__ = ["threshold_for"]

LEVELS = 50  # shares of rows answered that are tried; each costs a little of delta


def threshold_for(
    validation: Selection, *, risk: float | None = None, coverage: float | None = None, delta: float | None = 0.05
) -> float:
    """The least confidence to answer with.

    `risk`: the lowest threshold at which the share of errors among the answered rows is at most `risk`, with
    probability 1 - delta over the draw of the validation set: a Clopper-Pearson bound at each of 50 coverages, delta
    shared among them. `delta=None` takes the observed share instead. `coverage`: the highest threshold that answers at
    least this share of the validation rows.
    """
    if (risk is None) == (coverage is None):
        raise ValueError(f"wanted either a risk or a coverage, got risk={risk} and coverage={coverage}")
    promised = coverage if risk is None else risk
    if promised is None or not 0 <= promised <= 1:
        raise ValueError(f"a risk or coverage lies in [0, 1], got {promised}")
    if delta is not None and not 0 < delta < 1:
        raise ValueError(f"delta must lie in (0, 1), or be None for the observed risk, got {delta}")
    curve, rows = validation.risk_coverage, int(validation.count.sum())
    if coverage is not None:
        return _below(curve.threshold[_reaching(curve.coverage, np.array([coverage]))[0]])
    tried = np.unique(_reaching(curve.coverage, np.arange(1, LEVELS + 1) / LEVELS))
    bound = _risk_bound(curve.risk[tried], np.round(curve.coverage[tried] * rows), delta)
    kept = tried[bound <= risk]
    if not kept.size:
        seen = "" if delta is None else f", where {curve.risk[tried].min():.4g} was observed"
        least = f"the least that {rows} validation rows can promise is {bound.min():.4g}{seen}"
        raise ValueError(f"no threshold promises a risk of {risk:g}: {least}")
    return _below(curve.threshold[kept[-1]])


def _reaching(coverage: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """The first points of the curve that answer at least these shares."""
    return np.minimum(np.searchsorted(coverage, wanted - 1e-12), len(coverage) - 1)


def _below(confidence: float) -> float:
    """A hair less, so that rounding in another dtype does not reject the row that the number was read from."""
    return float(confidence) * (1 - 1e-6)


def _risk_bound(risk: np.ndarray, answered: np.ndarray, delta: float | None) -> np.ndarray:
    if delta is None:
        return risk
    from scipy.stats import beta

    errors = np.round(risk * answered)
    bound = beta.ppf(1 - delta / LEVELS, errors + 1, np.maximum(answered - errors, 1e-9))
    return np.asarray(np.where(errors >= answered, 1.0, bound))
