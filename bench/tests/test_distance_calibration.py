"""Distance calibration: its definition, what made the labels is recovered, and no distance raises the confidence."""

import copy
import pickle

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit, log_softmax
from slova_bench.distance_calibration import DistanceCalibration

from slova.heads import NONE

CALIBRATOR = DistanceCalibration([0.9, 0.2, 0.05], [0.4, 0.0, 0.1])


def rows_of(rows=200, classes=5, seed=0):
    generator = np.random.default_rng(seed)
    return generator.normal(-1, 4, (rows, classes)), generator.uniform(0, 3, (rows, 2))


def draw(log_probs, seed=0):
    return (log_probs + np.random.default_rng(seed).gumbel(size=log_probs.shape)).argmax(axis=1)


def fit_of(logits, labels, distances):
    return DistanceCalibration.fit(logits, labels, distances=distances)


def nll(calibrator, logits, distances, labels):
    return -calibrator(logits, distances)[np.arange(len(labels)), labels].mean()


def test_it_is_its_definition_written_naively():
    logits, distances = rows_of()
    probs = expit(logits)
    a = (0.9 - 0.2 * distances[:, 0] - 0.05 * distances[:, 1])[:, None]
    b = (0.4 - 0.1 * distances[:, 1])[:, None]
    wanted = log_softmax(a * np.log(probs) - b * np.log1p(-probs), axis=1)
    np.testing.assert_allclose(CALIBRATOR(logits, distances), wanted, rtol=1e-9, atol=1e-12)


def test_one_and_no_slopes_are_softmax():
    logits, distances = rows_of()
    neutral = DistanceCalibration([1, 0, 0], [1, 0, 0])
    np.testing.assert_allclose(neutral(logits, distances), log_softmax(logits, axis=1), atol=1e-12)


def test_the_numbers_that_made_the_labels_are_recovered():
    logits, distances = rows_of(rows=100_000)
    labels = draw(CALIBRATOR(logits, distances))
    found = DistanceCalibration.fit(logits, labels, distances=distances)
    np.testing.assert_allclose(found.positive_weights, CALIBRATOR.positive_weights, atol=0.03)
    np.testing.assert_allclose(found.negative_weights, CALIBRATOR.negative_weights, atol=0.03)


def test_no_other_numbers_are_likelier():
    logits, distances = rows_of(rows=5000)
    labels = draw(CALIBRATOR(logits, distances))
    found = DistanceCalibration.fit(logits, labels, distances=distances)
    best, generator = nll(found, logits, distances, labels), np.random.default_rng(1)
    for _ in range(50):
        positive, negative = (
            np.maximum(numbers + generator.normal(0, 0.05, 3), 0)
            for numbers in (found.positive_weights, found.negative_weights)
        )
        assert nll(DistanceCalibration(positive, negative), logits, distances, labels) > best - 1e-4


def test_the_floor_is_part_of_the_fit():
    """Rows far beyond the floor, where all classes are alike whatever the slopes, do not bend those of the others."""
    logits, distances = rows_of(rows=20_000)
    distances[::4] += 20
    labels = draw(CALIBRATOR(logits, distances))
    found = DistanceCalibration.fit(logits, labels, distances=distances)
    np.testing.assert_allclose(found.positive_weights, CALIBRATOR.positive_weights, atol=0.06)
    np.testing.assert_allclose(found.negative_weights, CALIBRATOR.negative_weights, atol=0.06)


def test_up_to_max_distance_nothing_changes_and_at_twice_of_it_all_classes_are_alike():
    logits, distances = rows_of()
    bounded = DistanceCalibration([0.9, 0.2, 0.05], [0.4, 0.0, 0.0], max_distance=[3.0, 3.0])
    endless = DistanceCalibration(bounded.positive_weights, bounded.negative_weights)
    np.testing.assert_array_equal(bounded(logits, 1.5 * distances), endless(logits, 1.5 * distances))
    distances[:, 1] = 6.0
    np.testing.assert_allclose(np.exp(bounded(1e3 * logits, distances)), 0.2, atol=0.003)
    assert np.exp(endless(1e3 * logits, distances)).max() > 0.99


def test_max_distance_of_a_fit_is_its_largest_distance_and_at_least_log_2():
    logits, distances = rows_of(rows=500)
    distances[:, 1] = 0
    found = DistanceCalibration.fit(logits, draw(CALIBRATOR(logits, distances)), distances=distances)
    np.testing.assert_allclose(found.max_distance, [distances[:, 0].max(), np.log(2)])
    for furthest in ([1.0], [1.0, 0.0], [1.0, np.nan]):
        with pytest.raises(ValueError, match="max_distance must be 2 positive numbers"):
            DistanceCalibration(found.positive_weights, found.negative_weights, furthest)


def test_weights_count_rows_and_the_target_of_none_is_uniform():
    logits, distances = rows_of(rows=500)
    labels = draw(CALIBRATOR(logits, distances))
    twice = fit_of(*(np.concatenate([part, part[:100]]) for part in (logits, labels, distances)))
    weighted = DistanceCalibration.fit(
        logits, labels, distances=distances, weight=np.r_[np.full(100, 2.0), np.ones(400)]
    )
    np.testing.assert_allclose(twice.positive_weights, weighted.positive_weights, atol=1e-4)
    far = np.vstack([distances, distances + 5.0])
    nothing = DistanceCalibration.fit(np.vstack([logits, logits]), np.r_[labels, np.full(500, NONE)], distances=far)
    here, there = (np.exp(nothing(logits, distances + away)).max(axis=1).mean() for away in (0.0, 5.0))
    assert there < 0.3 < 0.5 < here


@given(st.lists(st.floats(-50, 50), min_size=2, max_size=6), st.lists(st.floats(0, 30), min_size=2, max_size=2))
@settings(max_examples=200, deadline=None)
def test_the_order_is_kept_and_a_larger_distance_never_raises_the_confidence(values, distances):
    logits, here = np.sort(np.array(values)), np.array(distances)
    found = CALIBRATOR(logits, here)
    assert np.all(np.diff(found) >= 0)
    assert np.exp(found).sum() == pytest.approx(1)
    for step in np.eye(2):
        assert CALIBRATOR(logits, here + step).max() <= found.max() + 1e-12


@pytest.mark.parametrize("size", [1.0, 1e4, 1e20, np.inf])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_far_away_all_classes_are_nearly_alike_however_large_their_logits(size, dtype):
    found = np.exp(CALIBRATOR(np.array([[size, -1.0, -size]], dtype), np.array([[1e6, 1e6]], dtype)))
    np.testing.assert_allclose(found, 1 / 3, atol=0.01)
    assert np.all(np.diff(found) <= 0)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_numpy_and_torch_are_one_function(dtype):
    logits, distances = (part.astype(dtype) for part in rows_of())
    ours, theirs = CALIBRATOR(logits, distances), CALIBRATOR(torch.as_tensor(logits), torch.as_tensor(distances))
    assert ours.dtype == theirs.numpy().dtype == dtype
    np.testing.assert_allclose(theirs.numpy(), ours, atol=1e-5)
    assert CALIBRATOR(logits.reshape(2, 100, 5), distances.reshape(2, 100, 2)).shape == (2, 100, 5)


def test_copies_and_pickles_are_the_same_calibrator():
    logits, distances = rows_of()
    for same in (copy.deepcopy(CALIBRATOR), pickle.loads(pickle.dumps(CALIBRATOR))):
        np.testing.assert_array_equal(same(logits, distances), CALIBRATOR(logits, distances))


def test_infinite_logits_can_be_fitted():
    logits, distances = rows_of()
    labels = logits.argmax(axis=1)
    logits[:5, 0] = -np.inf
    assert np.isfinite(DistanceCalibration.fit(logits, labels, distances=distances).positive_weights).all()


def test_what_does_not_fit_is_refused():
    logits, distances = rows_of()
    labels = logits.argmax(axis=1)
    with pytest.raises(ValueError, match=r"distances must have shape \(200, 2\), got \(200, 1\)"):
        CALIBRATOR(logits, distances[:, :1])
    with pytest.raises(ValueError, match=r"distances must have shape \(200, D\), got \(199, 2\)"):
        DistanceCalibration.fit(logits, labels, distances=distances[1:])
    with pytest.raises(ValueError, match="not negative"):
        DistanceCalibration.fit(logits, labels, distances=-distances)
    with pytest.raises(ValueError, match="not negative"):
        DistanceCalibration([1.0, -0.1], [1.0, 0.0])
    with pytest.raises(ValueError, match="as many positive as negative"):
        DistanceCalibration([1.0, 0.1], [1.0])
