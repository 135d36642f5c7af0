"""Exponential calibration recovers what made the labels, and its fit is the optimum."""

import numpy as np
import pytest
from scipy.optimize import minimize, nnls
from scipy.special import gammaincc

from slova.calibration import ExponentialCalibration, Pairs, SmallValidationWarning
from slova.calibration.exponential import smoothed
from slova.calibration.mixture import best_mixture
from slova.heads import NONE, log_slova

RANGE = np.exp(np.linspace(-20, 20, 600))
DATA = {
    "ten classes": {},
    "two classes, much noise": {"classes": 2, "noise": 0.3},
    "fifty classes": {"classes": 50, "scale": 6.0, "rows": 400},
    "nothing learnt": {"scale": 0.5, "level": 0.0},
    "saturated": {"scale": 30.0, "level": -10.0},
}


def rows_of(seed=0, *, rows=1000, classes=10, scale=3.0, level=-2.0, noise=0.1):
    generator = np.random.default_rng(seed)
    labels = generator.integers(0, classes, rows)
    logits = generator.normal(level, scale / 2, (rows, classes))
    logits[np.arange(rows), labels] += generator.normal(scale, scale, rows)
    return log_slova(logits), np.where(generator.random(rows) < noise, generator.integers(NONE, classes, rows), labels)


def points_of(name, which="all", seed=0):
    return smoothed(Pairs.of(*rows_of(seed, **DATA[name]), which=which), points=500)


def pairs_from(curve, rows=50_000, seed=0):
    """Pairs whose hits follow a known curve."""
    generator = np.random.default_rng(seed)
    log_p = -generator.exponential(2.0, rows)
    return Pairs.merge(log_p, generator.random(rows) < np.exp(curve(log_p)))


def brute_force(points, *, zero=False, exponents=RANGE):
    """The least error of weights on a fine grid of exponents, by non-negative least squares."""
    powers = np.exp(-np.outer(points.t, exponents))
    powers = np.hstack([powers, np.zeros((len(powers), int(zero)))])
    offsets = (powers - points.target[:, None]) * np.sqrt(points.weight)[:, None]
    weights, _ = nnls(np.vstack([offsets, np.ones(powers.shape[1])]), np.append(np.zeros(len(powers)), 1.0))
    return points.weight @ (powers @ (weights / weights.sum()) - points.target) ** 2


@pytest.mark.parametrize("exponent", [0.2, 1.0, 3.0])
def test_a_single_exponent_is_recovered(exponent):
    found = ExponentialCalibration.fit_pairs(pairs_from(lambda log_p: exponent * log_p))
    at = np.log(np.linspace(0.02, 1, 50))
    assert np.exp(found(at)) == pytest.approx(np.exp(exponent * at), abs=0.025)
    assert found.exponents[found.weights.argmax()] == pytest.approx(exponent, rel=0.1)


def test_a_mixture_of_powers_is_recovered_as_a_curve():
    true = ExponentialCalibration([0.1, 1.0, 8.0], [0.2, 0.3, 0.5])
    found = ExponentialCalibration.fit_pairs(pairs_from(true))
    at = np.log(np.linspace(0.01, 1, 50))
    assert np.exp(found(at)) == pytest.approx(np.exp(true(at)), abs=0.02)


def test_the_curve_of_complete_ignorance_is_approximated_better_than_by_the_papers_closed_form():
    """Appendix A for K = 3: c(P) = Gamma(K, log 1/P) / (K - 1)!, where P is a product of three uniform numbers.

    As a function of log 1/P that curve is first concave, so it is not completely monotone: no sum of powers is equal
    to it, and the best one is a single power."""
    generator = np.random.default_rng(0)
    log_p = np.log(generator.random((50_000, 3))).sum(axis=1)
    exact = gammaincc(3, -log_p)
    found = ExponentialCalibration.fit_pairs(Pairs.merge(log_p, generator.random(len(log_p)) < exact))
    ours, closed = np.exp(found(log_p)), 1 - (1 - np.exp(log_p)) ** 3
    assert np.sqrt(np.mean((ours - exact) ** 2)) < 0.11 < 0.2 < np.sqrt(np.mean((closed - exact) ** 2))
    assert ours.mean() == pytest.approx(exact.mean(), abs=0.02)
    assert len(found.exponents) == 1


@pytest.mark.parametrize("zero", [False, True])
@pytest.mark.parametrize("which", ["all", "top"])
@pytest.mark.parametrize("name", DATA)
def test_no_weights_on_a_fine_grid_are_better_than_the_gap_allows(name, which, zero):
    points = points_of(name, which)
    found = best_mixture(points, at_most_one=zero)
    assert found.error == pytest.approx(points.weight @ (found.at(points.t) - points.target) ** 2, rel=1e-9)
    assert found.error <= brute_force(points, zero=zero) + max(found.gap, 0) + 1e-7 * found.error
    assert found.gap <= 1e-4 * found.error + 1e-12
    assert len(found.weights) <= 8
    assert found.weights.sum() == pytest.approx(1)


@pytest.mark.parametrize("name", ["ten classes", "two classes, much noise"])
def test_no_start_of_a_general_optimiser_does_better(name):
    points = points_of(name)

    def error(numbers):
        logs, scores = np.split(numbers, 2)
        weights = np.exp(scores - scores.max())
        residual = np.exp(-np.outer(points.t, np.exp(logs))) @ (weights / weights.sum()) - points.target
        return points.weight @ residual**2

    generator = np.random.default_rng(0)
    starts = (np.append(generator.uniform(-4, 4, 4), generator.normal(size=4)) for _ in range(5))
    best = min(minimize(error, start, method="L-BFGS-B", bounds=[(-20, 20)] * 8).fun for start in starts)
    found = best_mixture(points)
    assert found.error <= best + found.gap + 1e-9 * best


def test_the_fit_does_not_depend_on_the_order_of_rows_or_on_chance():
    log_probs, labels = rows_of()
    order = np.random.default_rng(1).permutation(len(labels))
    fits = [ExponentialCalibration.fit(log_probs[i], labels[i]) for i in (order, slice(None), slice(None))]
    for other in fits[1:]:
        np.testing.assert_array_equal(fits[0].exponents, other.exponents)
        np.testing.assert_array_equal(fits[0].weights, other.weights)


@pytest.mark.parametrize("which", ["all", "top"])
def test_whole_weights_repeat_rows_and_zero_leaves_them_out(which):
    log_probs, labels = rows_of(rows=400)
    weight = np.arange(400) % 3
    rows = np.repeat(np.arange(400), weight)
    at = log_probs.ravel()
    left = ExponentialCalibration.fit(log_probs, labels, which=which, weight=weight)
    right = ExponentialCalibration.fit(log_probs[rows], labels[rows], which=which)
    assert np.exp(left(at)) == pytest.approx(np.exp(right(at)), abs=0.01)


def test_weights_below_one_repair_certain_errors():
    """Three in ten rows are wrong with a probability of one: no power of one is less than one."""
    log_probs = np.tile(np.array([[0.0, -np.inf]]), (1000, 1))
    labels = (np.arange(1000) % 10 < 3).astype(int)
    fixed, free = (ExponentialCalibration.fit(log_probs, labels, at_most_one=free) for free in (False, True))
    assert np.exp(fixed(np.zeros(1))) == pytest.approx(1)
    assert np.exp(free(np.zeros(1))) == pytest.approx(0.7)


def test_a_small_validation_set_is_warned_of():
    with pytest.warns(SmallValidationWarning, match="hits and"):
        ExponentialCalibration.fit(*rows_of(rows=20))


def test_without_a_single_hit_certainty_is_not_claimed():
    log_probs, _ = rows_of(rows=200)
    with pytest.warns(SmallValidationWarning, match="0 hits"):
        found = ExponentialCalibration.fit(log_probs, np.full(200, NONE), at_most_one=True)
    assert np.exp(found(log_probs)).max() < 1e-3


def test_equal_exponents_are_one_term_of_their_joint_weight():
    found = ExponentialCalibration([1.0, 3.0, 1.0], [0.2, 0.3, 0.5])
    np.testing.assert_allclose(found.exponents, [1.0, 3.0])
    np.testing.assert_allclose(found.weights, [0.7, 0.3])
    probs = np.array([0.0, 0.3, 1.0])
    with np.errstate(divide="ignore"):
        np.testing.assert_allclose(np.exp(found(np.log(probs))), 0.7 * probs + 0.3 * probs**3)
