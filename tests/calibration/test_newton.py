"""The Newton steps of the calibration fits: to the minimum, within the bounds, and to a kink without a long search."""

import numpy as np
import pytest

from slova.calibration._newton import newton


def counted(objective):
    points = []

    def wrapped(numbers):
        points.append(numbers)
        return objective(numbers)

    return wrapped, points


def bowl(numbers):
    away = numbers - np.array([2.0, -3.0])
    return float(away @ away), 2 * away, lambda: 2 * np.eye(2)


@pytest.mark.parametrize(("lower", "wanted"), [(-np.inf, [2, -3]), (0.0, [2, 0])])
def test_a_quadratic_takes_one_step(lower, wanted):
    objective, points = counted(bowl)
    found = newton(objective, np.zeros(2), np.full(2, lower), tolerance=1e-9)
    np.testing.assert_allclose(found, wanted, atol=1e-9)
    assert len(points) == 2


def test_at_a_kink_the_search_ends_where_a_step_can_gain_less_than_the_tolerance():
    """|x| + x^2 / 2 from the side: at 0 the slope is still 1, and no step goes down."""
    objective, points = counted(lambda x: (float(abs(x[0]) + x[0] ** 2 / 2), np.sign(x) + x, lambda: np.eye(1)))
    found = newton(objective, np.array([1.0]), np.array([-np.inf]), tolerance=1e-6)
    assert abs(found[0]) < 1e-3
    assert len(points) < 100


def test_a_value_that_is_never_lower_ends_the_search():
    objective, points = counted(lambda x: (float("nan"), np.ones(1), lambda: np.eye(1)))
    np.testing.assert_array_equal(newton(objective, np.zeros(1), np.full(1, -np.inf), tolerance=1e-6), [0])
    assert len(points) <= 41
