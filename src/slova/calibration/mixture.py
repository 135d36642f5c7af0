"""The best mixture of powers: min over exponents and weights of  sum_i w_i (c(p_i) - b_i)^2,  c(p) = sum_j beta_j
p^alpha_j.

With t = -log p a power is an exponential, p^alpha = exp(-alpha t), and c is linear in the measure that puts beta_j on
alpha_j: the problem is convex, although it is not convex in (alpha, beta) as numbers. So there is one optimum, and how
far a mixture is from it can be bounded: if the gradient at c in the direction of p^alpha is g(alpha), the error is at
most

    gap = sum_j beta_j g(alpha_j) - min_alpha g(alpha)

above the optimum (the Frank-Wolfe gap). The steps: least squares on the simplex over a geometric grid of exponents (on
points merged into a few hundred cells), a damped Newton polish of exponents and weights on all points, a search for
the steepest exponent; repeated until the gap is small.

An exponent of infinity stands for the zero function: with it the weights of the others sum to at most one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Mixture", "Points", "Vector", "best_mixture"]

Vector = NDArray[np.float64]

LOG_EXPONENTS = (-20.0, 20.0)  # the range in which the paper starts its exponents
GRID_STEP = 0.4  # of log alpha; p^alpha hardly changes in shape over such a step
CELLS = 256
ROUNDS = 12
TOLERANCE = 1e-7  # of the gap, relative to the error; of a last step's gain it is the square


@dataclass(frozen=True)
class Points:
    """What to fit: t = -log p >= 0, the target value of c there, and its weight (weights sum to one)."""

    t: Vector
    target: Vector
    weight: Vector


@dataclass(frozen=True)
class Mixture:
    """Exponents (infinity: the zero function), their weights (sum one), the error reached and the bound on what is left
    to gain."""

    exponents: Vector
    weights: Vector
    error: float = np.nan
    gap: float = np.nan

    def at(self, t: Vector) -> Vector:
        return np.asarray(self.weights @ _powers(t, self.exponents))


def best_mixture(points: Points, *, at_most_one: bool = False) -> Mixture:
    """The mixture of least weighted squared error, with its error and gap."""
    constant = float(
        np.sum(points.weight * points.target**2, where=np.isinf(points.t))
    )  # c(0) = 0 whatever the mixture
    points = _finite_only(points)
    if not np.any(points.t > 0):
        return _saturated(points, at_most_one, constant)
    grid, cells = _exponent_grid(points.t), _compress(points)
    start = _on_exponents(cells, np.append(grid, np.inf) if at_most_one else grid)
    rough = _solve(cells, start, (grid, at_most_one), tolerance=1e-5)
    mixture = _solve(points, rough, (grid, at_most_one), tolerance=TOLERANCE)
    return replace(mixture, error=mixture.error + constant)


def _solve(points: Points, mixture: Mixture, space: tuple[Vector, bool], *, tolerance: float) -> Mixture:
    """Polish, search for a better exponent, repeat until the gap is a small share of the error."""
    best = mixture
    for _ in range(ROUNDS):
        mixture = _polish(mixture, points, tolerance**2)
        off = mixture.at(points.t) - points.target
        steepest, gap = _descent(2 * points.weight * off, mixture, points.t, space)
        best = replace(mixture, error=float(points.weight @ off**2), gap=gap)
        if gap <= tolerance * best.error or gap <= 1e-14:
            break
        mixture = _on_exponents(points, np.append(mixture.exponents, steepest))
    return best


def _powers(t: Vector, exponents: Vector) -> Vector:
    """p^alpha (exponents, points); 0 for an infinite exponent."""
    powers = np.multiply.outer(np.where(np.isinf(exponents), 0.0, -exponents), t)
    np.exp(powers, out=powers)
    powers[np.isinf(exponents)] = 0.0
    return powers


def _finite_only(points: Points) -> Points:
    keep = np.isfinite(points.t)
    return points if keep.all() else Points(points.t[keep], points.target[keep], points.weight[keep])


def _saturated(points: Points, at_most_one: bool, constant: float) -> Mixture:
    """Every probability is 0 or 1: only c(1), the sum of the weights, is left to choose."""
    total = points.weight.sum()
    level = float(points.weight @ points.target / total) if total > 0 and at_most_one else 1.0
    error = float(points.weight @ (level - points.target) ** 2) + constant
    return Mixture(np.array([1.0, np.inf]), np.array([level, 1 - level]), error, 0.0)


def _exponent_grid(t: Vector) -> Vector:
    low = max(LOG_EXPONENTS[0], np.log(1e-3 / t.max()))
    high = min(LOG_EXPONENTS[1], np.log(40 / t[t > 0].min()))
    return np.asarray(np.exp(np.linspace(low, high, max(2, int((high - low) / GRID_STEP) + 1))))


def _compress(points: Points) -> Points:
    """A few hundred cells of nearly equal t, each with its mean: a good start does not need all points."""
    scale = np.log(np.maximum(points.t, points.t[points.t > 0].min()))
    span = max(float(np.ptp(scale)), 1e-300)
    cell = np.minimum(((scale - scale.min()) * (CELLS / span)).astype(np.intp), CELLS - 1)
    weight = np.asarray(np.bincount(cell, points.weight, CELLS), np.float64)
    full = weight > 0
    mean = [
        np.bincount(cell, points.weight * values, CELLS)[full] / weight[full] for values in (points.t, points.target)
    ]
    return Points(mean[0], mean[1], weight[full])


def _on_exponents(points: Points, exponents: Vector) -> Mixture:
    """The best weights on given exponents. On the simplex E beta - b = (E - b 1') beta, so the nearest point of the
    simplex is, up to scale, the non-negative least-squares solution of [E - b 1'; 1'] beta = [0; 1]."""
    from scipy.optimize import nnls

    offsets = ((_powers(points.t, exponents) - points.target) * np.sqrt(points.weight)).T
    target = np.append(np.zeros(len(offsets)), 1.0)
    weights, _ = nnls(np.vstack([offsets, np.ones(len(exponents))]), target)
    return _merged(exponents, weights, GRID_STEP / 2)


def _merged(exponents: Vector, weights: Vector, within: float) -> Mixture:
    """Only the atoms that count, in order, weights to sum one; neighbours whose log exponents are that close become
    one."""
    keep = weights > 1e-12 * weights.sum()
    order = np.argsort(exponents[keep])
    exponents, weights = exponents[keep][order], weights[keep][order]
    logs = np.minimum(np.log(exponents), 1e3)  # a finite stand-in for the infinite exponent
    group = np.cumsum(np.append(0, np.diff(logs) > within))
    total = np.bincount(group, weights)
    mean = np.bincount(group, weights * logs) / total
    return Mixture(np.where(mean > 500, np.inf, np.exp(np.minimum(mean, 500))), total / total.sum())


def _polish(mixture: Mixture, points: Points, tolerance: float) -> Mixture:
    """Damped Newton steps in (log alpha, beta), the weights kept on the simplex, until a step gains next to nothing."""
    damping, here = 1e-4, _local(mixture, points)
    for _ in range(30):
        trial = _step(mixture, here, damping)
        there = _local(trial, points)
        gain = here.error - there.error
        if gain > 0:
            mixture, here, damping = trial, there, damping / 10
        else:
            damping *= 10
        if damping > 1e3 or abs(gain) <= tolerance * here.error:
            break
    return mixture


class _Local(NamedTuple):
    """The error at a mixture, and half its gradient and Hessian in (log alpha, beta)."""

    error: float
    gradient: Vector
    hessian: Vector


def _local(mixture: Mixture, points: Points) -> _Local:
    """What one weight gains the largest one loses, so that the weights keep their sum."""
    weights, largest, terms = mixture.weights[:, None], int(mixture.weights.argmax()), len(mixture.weights)
    rate = np.multiply.outer(np.where(np.isinf(mixture.exponents), 0.0, mixture.exponents), points.t)
    powers = _powers(points.t, mixture.exponents)
    slopes = -rate * powers  # of each power in its log exponent
    jacobian = np.concatenate([weights * slopes, powers - powers[largest]])
    off = mixture.weights @ powers - points.target
    residual = points.weight * off
    hessian = (points.weight * jacobian) @ jacobian.T
    own = np.arange(terms)
    hessian[own, own] += mixture.weights * ((slopes * (1 - rate)) @ residual)
    mixed = np.diag(slopes @ residual)
    mixed[largest] -= mixed[largest, largest]
    hessian[:terms, terms:] += mixed
    hessian[terms:, :terms] += mixed.T
    return _Local(float(residual @ off), jacobian @ residual, hessian)


def _step(mixture: Mixture, here: _Local, damping: float) -> Mixture:
    """One damped Newton step; the log of an exponent moves by at most one, a weight that would turn negative is
    dropped."""
    terms, infinite = len(mixture.weights), np.isinf(mixture.exponents)
    scale = np.abs(np.diag(here.hessian))
    scale = np.maximum(scale, 1e-12 * scale.max() + 1e-300)  # not singular where nothing counts
    change = np.linalg.solve(here.hessian + np.diag(damping * scale + 1e-12 * scale.max()), -here.gradient)
    logs = np.log(np.where(infinite, 1.0, mixture.exponents)) + np.clip(change[:terms], -1, 1)
    exponents = np.where(infinite, np.inf, np.exp(np.clip(logs, *LOG_EXPONENTS)))
    weights = mixture.weights + change[terms:]
    weights[int(mixture.weights.argmax())] -= change[terms:].sum()
    return _merged(exponents, weights, 1e-3)


def _descent(slope: Vector, mixture: Mixture, t: Vector, space: tuple[Vector, bool]) -> tuple[Vector, float]:
    """For a gradient with respect to c at each point: where it falls fastest, seen on merged cells, measured on all
    points."""
    grid, at_most_one = space
    logs = np.linspace(np.log(grid[0]), np.log(grid[-1]), 4 * len(grid))
    cells = _compress(Points(t, np.sign(slope), np.abs(slope) + 1e-300))
    lowest = np.exp(_lowest(logs, _powers(cells.t, np.exp(logs)) @ (cells.weight * cells.target)))
    found = np.append(mixture.exponents, np.append(lowest, np.inf) if at_most_one else lowest)
    measured = _powers(t, found) @ slope
    here = float(measured[: len(mixture.weights)] @ mixture.weights)
    return found[[int(measured.argmin())]], here - float(measured.min())


def _lowest(places: Vector, values: Vector) -> Vector:
    """The lowest of equally spaced values, and the vertex of the parabola through it and its neighbours."""
    i = int(np.clip(values.argmin(), 1, len(values) - 2))
    before, here, after = values[i - 1 : i + 2]
    bend = before - 2 * here + after
    shift = np.clip((before - after) / (2 * bend), -1, 1) if bend > 0 else 0.0
    return np.array([places[values.argmin()], places[i] + shift * (places[1] - places[0])])
