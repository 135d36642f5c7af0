"""The likeliest mixture of powers: max over exponents and weights of the likelihood of hits, concave in the mixture.

Scoring: at the current mixture the likelihood is, to second order, a weighted squared error, whose optimum
`slova.calibration.mixture` finds; a step that does not help is shortened.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from slova.calibration.mixture import Mixture, Points, Vector, best_mixture, descent, exponent_grid, finite_only, merged

__all__ = ["best_likelihood"]


def best_likelihood(t: Vector, hits: Vector, count: Vector, *, at_most_one: bool = False) -> Mixture:
    """The mixture of least -mean log-likelihood of hits out of count at each t, by scoring: each step is a
    least-squares fit."""
    points = Points(t, hits / count, count / count.sum())
    mixture = best_mixture(points, at_most_one=at_most_one)
    best = _surprise(mixture.at(t), points)
    for _ in range(50):
        chance = np.clip(mixture.at(t), 1e-12, 1 - 1e-12)  # a weight of 1/0 is avoided where c is 0 or 1
        weight = points.weight / (chance * (1 - chance))
        step = best_mixture(Points(t, points.target, weight / weight.sum()), at_most_one=at_most_one)
        mixture, value = _search(mixture, step, points)
        if best - value <= 1e-10 * abs(best):
            break
        best = value
    return replace(mixture, error=min(best, value), gap=_likelihood_gap(mixture, points, at_most_one))


def _surprise(chance: Vector, points: Points) -> float:
    """-mean log-likelihood; infinite where what happened was held impossible."""
    from scipy.special import xlog1py, xlogy

    return float(-points.weight @ (xlogy(points.target, chance) + xlog1py(1 - points.target, -chance)))


def _search(old: Mixture, new: Mixture, points: Points) -> tuple[Mixture, float]:
    """The longest of the steps 1, 1/2, 1/4, ... from old towards new that lowers the surprise."""
    start = _surprise(old.at(points.t), points)
    for share in 0.5 ** np.arange(12):
        exponents = np.append(new.exponents, old.exponents)
        trial = Mixture(exponents, np.append(share * new.weights, (1 - share) * old.weights))
        value = _surprise(trial.at(points.t), points)
        if value < start:
            return merged(trial.exponents, trial.weights, 0.0), value
    return old, start


def _likelihood_gap(mixture: Mixture, points: Points, at_most_one: bool) -> float:
    finite = finite_only(points)
    if not np.any(finite.t > 0):  # only c(1) was left to choose, and the first step has chosen it
        return 0.0
    chance = mixture.at(finite.t)
    with np.errstate(divide="ignore", invalid="ignore"):
        slope = np.where(
            finite.target == chance, 0.0, finite.weight * (chance - finite.target) / (chance * (1 - chance))
        )
    return max(descent(slope, mixture, finite.t, (exponent_grid(finite.t), at_most_one))[1], 0.0)
