"""The convex stages of `PosteriorCalibration.fit`: temperature, shared numbers, numbers per class, pairs of classes.

`terms` are (2, N, K): log p and -log(1 - p), smoothed; `factors` (N, 1 + D): 1 and minus the distances; `weight` (N,)
is how often each row counts. Every objective is a negative log-likelihood summed over rows, plus penalties.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from slova._backend import NUMPY
from slova.calibration._newton import Objective, newton

Vector = NDArray[np.float64]
Labels = NDArray[np.int64]

LIMIT = 36.0  # log-odds saturate here: no probability in float64 is closer to one
FARTHEST = 1e4  # what infinite log-odds are taken for
TOLERANCE = 1e-8  # of the mean negative log-likelihood
PULL, RIDGE = 1.0, 0.01  # of a and b to the temperature; of their slopes to 0
SPREAD, BIAS, MEAN, FEW = 0.1, 0.03, 0.3, 300.0  # of A and B around their means and of c, both times K; of the means
PAIRS, FEW_PAIRS, POWER = 10.0, 500.0, 3  # penalties grow by 1 + (few / n)^3
BY_CLASS = 64  # classes up to which arrays (N, K) are stored by column
ABSENT = -1e9  # the score of a class that is left out of a likelihood


class Rows(NamedTuple):
    """What the class part is fitted to: the rows of a class, NONE left out."""

    log_odds: Vector
    labels: Labels
    weight: Vector
    none_weight: Vector  # in the model of NONE
    factors: Vector
    floor: Vector  # a and b are at least this
    groups: Labels | None = None  # rows of one group are in one fold
    own: Labels | None = None  # 1 for rows that numbers per class and pair must pay on, else 0

    @property
    def total(self) -> float:
        return float(self.weight.sum())

    def at(self, which: NDArray[np.bool_] | Labels) -> Rows:
        return Rows(*(None if part is None else part[which] for part in self))  # type: ignore[arg-type]


class Model(NamedTuple):
    """The numbers of the class part: `shared` (2, 1 + D), `classes` (3, K), `pairs` (K, K)."""

    shared: Vector
    scale: float = 1.0
    smoothing: float = 0.0
    reference: float = 1.0
    classes: Vector | None = None
    pairs: Vector | None = None


def terms_of(log_odds: Vector, scale: float, smoothing: float) -> Vector:
    """log p and -log(1 - p) of scaled log-odds and smoothed probabilities."""
    terms = _empty(2, log_odds)
    terms[0], terms[1] = np.exp(np.clip(scale * log_odds, -LIMIT, LIMIT)), 1.0
    terms /= 1 + terms[0]
    terms = np.log(terms + smoothing) - np.log1p(2 * smoothing)
    np.negative(terms[1], out=terms[1])
    return np.asarray(terms)


def scores(rows: Rows, model: Model, terms: Vector) -> Vector:
    """(N, K); `terms` are those of the model's scale and smoothing."""
    steep = _steepness(rows, model.shared)
    total = np.asarray(np.einsum("jn,jnk->nk", steep, terms))
    if model.classes is not None:
        total += np.einsum("jnk,jk->nk", _features(steep, terms, model.reference), model.classes)
    if model.pairs is not None:
        total += (steep.mean(axis=0)[:, None] * terms[0]) @ model.pairs
    return total


def nll(total: Vector, labels: Labels) -> Vector:
    """Per row, of scores (N, K)."""
    return np.asarray(NUMPY.logsumexp(total) - total[np.arange(len(labels)), labels])


def _steepness(rows: Rows, shared: Vector) -> Vector:
    """a and b of each row, (2, N)."""
    return np.maximum(shared @ rows.factors.T, rows.floor)


def _features(steep: Vector, terms: Vector, reference: float) -> Vector:
    """What A, B and c are multiplied by, (3, N, K)."""
    mean = steep.mean(axis=0)[:, None]
    features = _empty(3, terms[0])
    np.multiply(mean, terms, out=features[:2])
    features[2] = mean / reference
    return features


def _empty(count: int, rows: Vector) -> Vector:
    """Arrays (count, N, K), stored by class where these are few: numpy reduces short rows slowly."""
    by_class = rows.shape[1] <= BY_CLASS
    return np.empty((count, *rows.T.shape)).transpose(0, 2, 1) if by_class else np.empty((count, *rows.shape))


def _softmax(total: Vector) -> tuple[Vector, Vector]:
    """log of the sum of exponentials, and the probabilities, in the place of the scores."""
    highest = total.max(axis=1)
    total -= highest[:, None]
    np.exp(total, out=total)
    odds = total.sum(axis=1)
    total /= odds[:, None]
    return np.log(odds) + highest, total


def fit_temperature(rows: Rows, evidence: Vector, weight: Vector, start: float = 1.0) -> float:
    """The inverse temperature of the scores `evidence` (N, K), drawn a little to 1."""
    ones, unbounded = np.ones((len(evidence), 1)), np.full(len(evidence), -np.inf)
    objective = _shared_objective(rows.labels, evidence[None], ones, weight, unbounded, np.ones((1, 1)))
    return float(newton(objective, np.array([start]), np.zeros(1), tolerance=TOLERANCE * weight.sum())[0])


def fit_shared(rows: Rows, terms: Vector, weight: Vector, centre: Vector, start: Vector | None = None) -> Vector:
    """a and b, (2, 1 + D), none of them negative, drawn a little to `centre`."""
    found = np.ravel(centre + 0.1 if start is None else start)
    lower, tolerance = np.zeros(centre.size), TOLERANCE * weight.sum()
    for floor in (np.full(len(weight), -np.inf), rows.floor)[: centre.shape[1]]:  # without its floor it is convex
        objective = _shared_objective(rows.labels, terms, rows.factors, weight, floor, centre)
        found = newton(objective, found, lower, tolerance=tolerance)
    return found.reshape(centre.shape)


def _shared_objective(
    labels: Labels, terms: Vector, factors: Vector, weight: Vector, floor: Vector, centre: Vector
) -> Objective:
    own = terms[:, np.arange(len(labels)), labels]
    ridge = np.full(centre.shape, RIDGE)
    ridge[:, 0] = PULL
    size, pull, middle = len(terms), ridge.ravel(), centre.ravel()

    def objective(numbers: Vector) -> tuple[float, Vector, Callable[[], Vector]]:
        raw = numbers.reshape(size, -1) @ factors.T
        steep, above = np.maximum(raw, floor), raw > floor
        log_total, probs = _softmax(np.einsum("jn,jnk->nk", steep, terms))
        means = np.einsum("nk,jnk->jn", probs, terms)
        away = numbers - middle
        value = weight @ (log_total - (steep * own).sum(axis=0)) + pull @ away**2 / 2

        def hessian() -> Vector:
            matrix = np.empty((size, factors.shape[1], size, factors.shape[1]))
            for i in range(size):
                weighted = probs * terms[i]
                for j in range(i + 1):
                    spread = np.einsum("nk,nk->n", weighted, terms[j]) - means[i] * means[j]
                    matrix[i, :, j] = (factors.T * (weight * spread * above[i] * above[j])) @ factors
                    matrix[j, :, i] = matrix[i, :, j].T
            return matrix.reshape(len(numbers), -1) + np.diag(pull)

        return float(value), ((weight * (means - own) * above) @ factors).ravel() + pull * away, hessian

    return objective


def fit_classes(rows: Rows, model: Model, terms: Vector, weight: Vector, start: Vector | None = None) -> Model:
    """The shared model with A, B and c. The bounds keep a + t A and b + t B from being negative: no class falls with
    its own log-odds. A class without rows keeps zeros."""
    steep = _steepness(rows, model.shared)
    reference = max(float(steep.mean(axis=0) @ weight / weight.sum()), 1e-6)
    base = _present(np.einsum("jn,jnk->nk", steep, terms), rows.labels, weight)
    size = base.shape[1]
    lower = np.full((3, size), -np.inf)
    lower[:2] = -(steep @ weight / weight.sum() / reference)[:, None]
    ridge = _class_ridge(np.bincount(rows.labels, weight, size), weight.sum())
    objective = _class_objective(rows.labels, _features(steep, terms, reference), base, weight, ridge)
    numbers = np.zeros(3 * size) if start is None else start.ravel()
    numbers = newton(objective, numbers, lower.ravel(), tolerance=TOLERANCE * weight.sum())
    return model._replace(reference=reference, classes=numbers.reshape(3, size))


def _present(base: Vector, labels: Labels, weight: Vector) -> Vector:
    """Scores without the classes of which rows were to be expected and none came: were they left in the likelihood,
    the other classes would take their place."""
    expected = weight @ _softmax(base.copy())[1]
    base[:, (np.bincount(labels, weight, base.shape[1]) == 0) & (expected > 3)] = ABSENT
    return base


def _class_ridge(counts: NDArray[Any], total: float) -> Vector:
    size = len(counts)
    few, mean = 1 + (FEW / total) ** POWER, np.full((size, size), 1 / size)
    ridge = np.zeros((3, size, 3, size))
    ridge[0, :, 0] = ridge[1, :, 1] = few * (SPREAD * size * (np.eye(size) - mean) + MEAN * mean)
    ridge[2, :, 2] = few * BIAS * size * np.eye(size)
    return ridge.reshape(3 * size, -1) + np.diag(np.tile(np.where(counts > 0, 0.0, 1e9), 3))


def _class_objective(labels: Labels, features: Vector, base: Vector, weight: Vector, ridge: Vector) -> Objective:
    each, size = np.arange(len(labels)), base.shape[1]

    def objective(numbers: Vector) -> tuple[float, Vector, Callable[[], Vector]]:
        total = base + np.einsum("jnk,jk->nk", features, numbers.reshape(3, -1))
        own = total[each, labels]
        log_total, probs = _softmax(total)
        value = weight @ (log_total - own) + numbers @ ridge @ numbers / 2
        counted = weight[:, None] * probs
        excess = counted.copy()
        excess[each, labels] -= weight

        def hessian() -> Vector:
            joint = (features * (np.sqrt(weight)[:, None] * probs)).transpose(1, 0, 2).reshape(len(labels), -1)
            matrix, diagonal = (ridge - joint.T @ joint).reshape(3, size, 3, size), np.arange(size)
            for i in range(3):
                weighted = features[i] * counted
                for j in range(3):
                    matrix[i, diagonal, j, diagonal] += np.einsum("nk,nk->k", weighted, features[j])
            return matrix.reshape(3 * size, -1)

        return float(value), np.einsum("jnk,nk->jk", features, excess).ravel() + ridge @ numbers, hessian

    return objective


def fit_pairs(rows: Rows, model: Model, terms: Vector, weight: Vector, start: Vector | None = None) -> Model:
    """The model with a matrix (K, K): what log p of one class adds to the score of another, at most what it adds to
    its own. Its diagonal is zero, as are rows and columns of classes without rows."""
    from scipy.optimize import minimize

    steep = _steepness(rows, model.shared)
    base = _present(scores(rows, model, terms), rows.labels, weight)
    size = base.shape[1]
    assert model.classes is not None
    upper = np.maximum(steep[0] @ weight / weight.sum() / model.reference + model.classes[0], 0)
    unseen = np.bincount(rows.labels, weight, size) == 0
    held = np.eye(size, dtype=bool) | unseen | unseen[:, None]
    bounds = np.stack([np.where(held, 0, -np.inf), np.where(held, 0, upper[:, None])], axis=-1).reshape(-1, 2)
    objective = _pair_objective(rows.labels, steep.mean(axis=0)[:, None] * terms[0], base, weight)
    first = np.zeros(size * size) if start is None else start.ravel()
    options = {"maxiter": 100, "ftol": 1e-6}
    found = minimize(objective, first, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    return model._replace(pairs=found.x.reshape(size, size))


def _pair_objective(
    labels: Labels, evidence: Vector, base: Vector, weight: Vector
) -> Callable[[Vector], tuple[float, Vector]]:
    each, size = np.arange(len(labels)), base.shape[1]
    penalty = PAIRS * (1 + (FEW_PAIRS / weight.sum()) ** POWER)

    def objective(numbers: Vector) -> tuple[float, Vector]:
        total = base + (numbers.reshape(size, size).T @ evidence.T).T  # both stored by class
        own = total[each, labels]
        log_total, probs = _softmax(total)
        value = weight @ (log_total - own) + penalty / 2 * numbers @ numbers
        probs *= weight[:, None]
        probs[each, labels] -= weight
        return float(value), (evidence.T @ probs).ravel() + penalty * numbers

    return objective
