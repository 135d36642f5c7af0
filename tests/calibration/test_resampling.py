"""Out-of-fold calibration never looks at the row it calibrates, and bootstrap intervals cover."""

import numpy as np
import pytest

from slova.calibration import BetaCalibration, ExponentialCalibration, TemperatureScaling, cross_fit, map_interval
from slova.heads import NONE


class Constant:
    """A map that says which rows made it."""

    elementwise, order_preserving = True, False

    def __init__(self, seen):
        self.seen = seen

    def __call__(self, log_probs):
        assert not self.seen & set(log_probs[:, 0])
        return log_probs - len(self.seen)


@pytest.mark.parametrize("folds", [2, 5, 23])
def test_each_row_is_calibrated_by_a_map_that_did_not_see_it(folds):
    log_probs = -np.arange(23.0)[:, None] - [0, 0.5]
    made = []

    def fit(rows, labels):
        assert len(rows) == len(labels)
        made.append(Constant(set(rows[:, 0])))
        return made[-1]

    calibrated = cross_fit(fit, log_probs, np.zeros(23, int), folds=folds)
    assert len(made) == folds
    assert set(np.rint(log_probs - calibrated).ravel()) <= {23 - 23 // folds, 23 - 23 // folds - 1}


def test_folds_depend_on_the_seed_alone():
    log_probs, labels = column(np.random.default_rng(0), 300)
    one, two, other = (cross_fit(BetaCalibration.fit, log_probs, labels, seed=seed) for seed in (0, 0, 1))
    np.testing.assert_array_equal(one, two)
    assert not np.array_equal(one, other)


def column(generator, rows, exponent=2.0):
    probs = generator.random(rows)
    return np.log(probs)[:, None], np.where(generator.random(rows) < probs**exponent, 0, NONE)


@pytest.mark.slow
def test_the_interval_covers_the_true_map_about_as_often_as_it_says():
    generator = np.random.default_rng(0)
    at = np.array([0.3, 0.6, 0.9])
    covered = []
    for seed in range(60):
        low, high = map_interval(
            ExponentialCalibration.fit, *column(generator, 400), at=at, level=0.9, resamples=40, seed=seed
        )
        covered.append((low <= at**2) & (at**2 <= high))
    assert 0.8 <= np.mean(covered) <= 0.97


def test_an_interval_narrows_with_more_rows_and_lower_level():
    at = [0.2, 0.5, 0.8]
    rows = {n: column(np.random.default_rng(0), n) for n in (300, 3000)}

    def width(n, level):
        low, high = map_interval(ExponentialCalibration.fit, *rows[n], at=at, level=level, resamples=20)
        assert np.all(low <= high)
        return np.mean(high - low)

    assert width(3000, 0.9) < width(300, 0.9)
    assert width(300, 0.5) < width(300, 0.9)


def test_an_interval_is_asked_of_one_probability_too():
    low, high = map_interval(BetaCalibration.fit, *column(np.random.default_rng(0), 500), at=0.5, resamples=10)
    assert 0.1 < low <= high < 0.4


def test_a_map_of_whole_rows_has_no_curve():
    log_probs = np.log(np.random.default_rng(0).dirichlet(np.ones(3), 50))
    with pytest.raises(TypeError, match="TemperatureScaling maps rows"):
        map_interval(TemperatureScaling.fit, log_probs, np.arange(50) % 3, at=[0.5])
