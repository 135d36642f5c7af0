"""Distances from few images: shrunk correlations, and images of the fit as if they were new."""

import numpy as np
import pytest

from slova.vision.shrinkage import ShrunkStatistics


def channels(rows: int, width: int, seed: int) -> np.ndarray:
    """Correlated, of different variances."""
    mixing = np.eye(width) + 0.4 * np.random.default_rng(0).normal(size=(width, width)) / np.sqrt(width)
    factors = np.random.default_rng(seed).normal(size=(rows, width))
    return (factors * np.linspace(0.3, 2, width)) @ mixing * np.logspace(-0.4, 0.4, width) + 3


@pytest.mark.parametrize(("rows", "width"), [(200, 1280), (300, 40), (50, 50)])
def test_images_of_the_fit_are_as_far_away_as_new_ones(rows, width):
    fitted, new = channels(rows, width, 1), channels(500, width, 2)
    found = ShrunkStatistics.of(fitted)
    expected = found.square(new).mean()
    assert found.held_out(fitted, of=fitted).mean() == pytest.approx(expected, rel=0.1)
    assert found.square(fitted).mean() < 0.95 * expected


def test_the_formula_is_that_of_statistics_without_the_image():
    fitted = channels(200, 8, 1)
    versions, found = fitted + 0.3 * channels(200, 8, 2), ShrunkStatistics.of(fitted)
    one = [ShrunkStatistics.of(np.delete(fitted, row, 0)).square(versions[[row]])[0] for row in range(200)]
    np.testing.assert_allclose(found.held_out(versions, of=fitted), one, rtol=0.05)


def test_with_many_images_distances_are_those_of_the_plain_covariance():
    fitted, new = channels(20_000, 10, 1), channels(200, 10, 2)
    shrunk = ShrunkStatistics.of(fitted)
    assert shrunk.shrinkage < 0.01
    away = new - fitted.mean(axis=0)
    exact = (away @ np.linalg.inv(np.cov(fitted.T)) * away).mean(axis=1)
    np.testing.assert_allclose(shrunk.square(new), exact, rtol=0.05)


def test_few_images_are_shrunk_more_and_constant_channels_are_no_problem():
    few, many = (ShrunkStatistics.of(channels(rows, 100, 1)).shrinkage for rows in (30, 3000))
    assert 1 >= few > 5 * many > 0
    fitted = channels(100, 5, 1)
    fitted[:, 2] = 7.0
    found = ShrunkStatistics.of(fitted)
    moved = fitted.copy()
    moved[:, 2] += 1
    assert (found.square(moved) > found.square(fitted)).all()
    assert np.isfinite(ShrunkStatistics.of(np.zeros((20, 3))).square(np.ones((2, 3)))).all()
