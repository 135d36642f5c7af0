"""A completed row sums to one, keeps its top confidence and its order."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import brentq

from slova.calibration import complete

probs_rows = arrays(
    np.float64,
    st.tuples(st.integers(1, 3), st.integers(1, 6)),
    elements=st.one_of(st.floats(0, 1), st.sampled_from([0.0, 1.0, 0.5, 0.25, 1e-300, 1e-5])),
)


def logs(probs):
    with np.errstate(divide="ignore"):
        return np.log(np.asarray(probs, float))


@given(probs_rows, st.booleans(), st.sampled_from([np.float32, np.float64]), st.booleans())
@settings(max_examples=300, deadline=None)
def test_a_completed_row_is_a_distribution_that_keeps_its_top_and_its_order(probs, none, dtype, tensor):
    log_probs = logs(probs).astype(dtype)
    given_rows = torch.as_tensor(log_probs) if tensor else log_probs
    row = [np.asarray(part) for part in complete(given_rows, none=none)]
    filled, left = np.exp(row[0].astype(float)), np.exp(row[1].astype(float))
    classes, top = probs.shape[1], np.exp(log_probs.astype(float)).max(axis=1)
    assert filled.sum(axis=1) + left == pytest.approx(1, abs=2e-6)
    assert np.all(filled.max(axis=1) >= 1 / classes - 1e-6) or none
    low = top < 1 / classes - 1e-6
    assert filled.max(axis=1)[~low] == pytest.approx(
        np.maximum(top, filled.max(axis=1) * (top < 1 / classes))[~low], abs=1e-6
    )
    assert np.array_equal(row[2][low], np.full(low.sum(), not none))
    if none:
        picked = log_probs.argmax(axis=1)
        assert np.array_equal(row[0][np.arange(len(picked)), picked], log_probs.max(axis=1))
        assert not row[2].any()
    else:
        assert np.all(left == 0)
        assert filled.max(axis=1)[low] == pytest.approx(1 / classes, abs=1e-6)
    falling = np.argsort(-log_probs, axis=1, kind="stable")  # of equal tops the first is kept
    assert np.all(np.diff(np.take_along_axis(filled, falling, axis=1), axis=1) <= 1e-6)


def test_the_rest_goes_to_the_other_classes_and_then_to_none():
    confident, unsure = complete(logs([0.7, 0.1, 0.02])), complete(logs([0.2, 0.1, 0.02]))
    assert np.exp(confident.log_none) == 0
    assert np.exp(unsure.log_probs) == pytest.approx(0.2)
    assert np.exp(unsure.log_none) == pytest.approx(0.4)


def test_a_row_that_is_a_distribution_stays_as_it_is():
    probs = np.random.default_rng(0).dirichlet(np.ones(5), size=50)
    row = complete(np.log(probs))
    assert np.exp(row.log_probs) == pytest.approx(probs, abs=1e-9)


def test_a_class_of_probability_zero_does_not_push_another_above_the_top():
    assert np.exp(complete(logs([0.4, 1e-5, 0.0])).log_probs) == pytest.approx([0.4, 0.4, 0.2], abs=1e-6)


def test_two_tops_of_more_than_half_cannot_both_be_kept():
    assert np.exp(complete(logs([0.7, 0.7, 0.1])).log_probs) == pytest.approx([0.7, 0.3, 0.0], abs=1e-9)


def test_one_class_and_none_share_everything():
    row = complete(logs([[0.3], [1.0], [0.0]]))
    assert np.exp(row.log_probs[:, 0]) == pytest.approx([0.3, 1, 0])
    assert np.exp(row.log_none) == pytest.approx([0.7, 0, 1])


def test_rounding_above_certainty_is_forgiven():
    row = complete(np.array([1e-9, -1.0]))
    assert row.log_probs[0] == 0
    assert np.exp(row.log_probs).sum() == pytest.approx(1)


@pytest.mark.parametrize("row", [[0.7, 0.1, 0.02], [0.4, 0.39, 0.3, 0.01], [0.9, 0.9 - 1e-3, 1e-8], [0.5, 1e-4, 1e-5]])
def test_the_others_share_the_rest_like_powers_of_what_they_had(row):
    odds = np.array(row[1:]) / row[0]
    tau = brentq(lambda tau: (odds**tau).sum() - (1 - row[0]) / row[0], 1e-9, 1e6)
    assert np.exp(complete(logs(row)).log_probs)[1:] == pytest.approx(row[0] * odds**tau, abs=1e-9)
