"""Out-of-fold calibration never looks at the row it calibrates."""

import numpy as np
import pytest

from slova.calibration import BetaCalibration, cross_fit
from slova.heads import NONE


class Constant:
    """A calibrator that knows the rows of its fit."""

    elementwise, order_preserving = True, False

    def __init__(self, seen):
        self.seen = seen

    def __call__(self, log_probs):
        assert not self.seen & set(log_probs[:, 0])
        return log_probs - len(self.seen)


@pytest.mark.parametrize("folds", [2, 5, 23])
def test_each_row_is_calibrated_by_a_calibrator_that_was_not_fitted_on_it(folds):
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
