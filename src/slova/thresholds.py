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
    least this share of the validation rows. The number lies above every validation confidence that is refused, so the
    bound is of the rows that are answered; weights that are no whole numbers have no such bound, and want `delta=None`.
    """
    if (risk is None) == (coverage is None):
        raise ValueError(f"wanted either a risk or a coverage, got risk={risk} and coverage={coverage}")
    promised = coverage if risk is None else risk
    if promised is None or not 0 <= promised <= 1:
        raise ValueError(f"a risk or coverage lies in [0, 1], got {promised}")
    if delta is not None and not 0 < delta < 1:
        raise ValueError(f"delta must lie in (0, 1), or be None for the observed risk, got {delta}")
    if coverage is not None:
        return _above_the_refused(validation, _reaching(validation.risk_coverage.coverage, np.array([coverage]))[0])
    if delta is not None and validation.count.dtype.kind == "f":
        raise ValueError(
            "the validation rows have weights that are no whole numbers, so their errors are not counted and no delta "
            "can be kept: delta=None takes the observed risk"
        )
    return _above_the_refused(validation, _promising(validation, risk or 0.0, delta))


def _promising(validation: Selection, risk: float, delta: float | None) -> int:
    """The last point of the curve that keeps this risk."""
    curve, rows = validation.risk_coverage, int(validation.count.sum())
    tried = np.unique(_reaching(curve.coverage, np.arange(1, LEVELS + 1) / LEVELS))
    bound = _risk_bound(curve.risk[tried], np.round(curve.coverage[tried] * rows), delta)
    kept = tried[bound <= risk]
    if not kept.size:
        best = int(bound.argmin())
        seen = "" if delta is None else f", where {curve.risk[tried[best]]:.4f} was observed"
        least = f"the least that {rows} validation rows can promise is {np.ceil(1e4 * bound[best]) / 1e4:g}{seen}"
        raise ValueError(f"no threshold promises a risk of {risk:g}: {least}")
    return int(kept[-1])


def _reaching(coverage: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """The first points of the curve that answer at least these shares."""
    return np.minimum(np.searchsorted(coverage, wanted - 1e-12), len(coverage) - 1)


def _above_the_refused(validation: Selection, point: int) -> float:
    """A hair less than the least confidence that is answered, so that rounding in another dtype does not reject the row
    it was read from; at most half the way to the next one, and none of it where float32 would round it to that."""
    full = validation.count > 0
    answered = validation.least[full][::-1][point]
    refused = np.append(validation.largest[full][::-1], -np.inf)[point + 1]
    less = max(answered * (1 - 1e-6), (answered + refused) / 2)
    return float(less if np.float32(less) > np.float32(refused) else answered)


def _risk_bound(risk: np.ndarray, answered: np.ndarray, delta: float | None) -> np.ndarray:
    if delta is None:
        return risk
    from scipy.stats import beta

    errors = np.round(risk * answered)
    bound = beta.ppf(1 - delta / LEVELS, errors + 1, np.maximum(answered - errors, 1e-9))
    return np.asarray(np.where(errors >= answered, 1.0, bound))
