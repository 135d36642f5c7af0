import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slova.heads import NONE
from slova.metrics import Selection, aurc, risk_coverage

ROWS = st.lists(st.tuples(st.sampled_from([0.0, 0.3, 0.5, 1.0]), st.booleans()), min_size=1, max_size=6)


def column(confidence, hits):
    return np.asarray(confidence, dtype=float)[:, None], np.where(hits, 0, NONE)


@given(ROWS)
@settings(max_examples=60, deadline=None)
def test_aurc_is_the_mean_selective_risk_averaged_over_the_orders_of_ties(rows):
    orders = [order for order in itertools.permutations(rows) if list(order) == sorted(order, key=lambda row: -row[0])]
    errors = [np.cumsum([not hit for _, hit in order]) / np.arange(1, len(rows) + 1) for order in orders]
    confidence, hits = zip(*rows, strict=True)
    assert aurc(*column(confidence, hits)) == pytest.approx(np.mean(errors), abs=1e-12)


def test_aurc_is_zero_when_all_is_right_and_one_when_all_is_wrong():
    confidence = np.linspace(0, 1, 7)
    assert aurc(*column(confidence, confidence > -1)) == 0.0
    assert aurc(*column(confidence, confidence > 2)) == 1.0


def test_aurc_rewards_errors_that_are_unsure():
    confidence = np.array([0.9, 0.5, 0.1])
    assert aurc(*column(confidence, [True, True, False])) == pytest.approx((0 + 0 + 1 / 3) / 3)
    assert aurc(*column(confidence, [False, True, True])) == pytest.approx((1 + 1 / 2 + 1 / 3) / 3)


def test_the_curve_gives_risk_and_coverage_of_the_rows_at_least_as_confident():
    curve = risk_coverage(*column([0.9, 0.5, 0.5, 0.0], [True, False, True, False]))
    assert curve.threshold.tolist() == [0.9, 0.5, 0.0]
    assert curve.coverage.tolist() == [0.25, 0.75, 1.0]
    assert curve.risk.tolist() == [0.0, 1 / 3, 0.5]


def test_a_none_row_is_always_an_error():
    assert risk_coverage(np.array([[0.7, 0.1]]), np.array([NONE])).risk.tolist() == [1.0]


def test_the_curve_of_a_merged_state_consists_of_exact_points():
    generator = np.random.default_rng(0)
    probs, labels = generator.dirichlet(np.full(3, 0.3), size=5000), generator.integers(-1, 3, size=5000)
    whole = risk_coverage(probs, labels)
    curve = (Selection.of(probs[:1000], labels[:1000]) + Selection.of(probs[1000:], labels[1000:])).risk_coverage
    found = np.isin(whole.threshold, curve.threshold)
    assert 500 < found.sum() < len(whole.threshold)
    for name in ("threshold", "coverage", "risk"):
        np.testing.assert_allclose(getattr(curve, name), getattr(whole, name)[found], rtol=1e-12)


def test_whole_weights_leave_what_repeated_rows_leave():
    generator = np.random.default_rng(0)
    confidence, hits, weight = (
        generator.random(500).round(2),
        generator.random(500) < 0.6,
        generator.integers(0, 4, 500),
    )
    found = Selection.weighted(confidence, hits, weight.astype(float))
    wanted = Selection.histogram(confidence.repeat(weight), hits.repeat(weight))
    for name in ("count", "hits", "total", "least", "largest"):
        np.testing.assert_allclose(getattr(found, name), getattr(wanted, name), rtol=1e-12)
    assert found.count.dtype == wanted.count.dtype


@pytest.mark.parametrize("scale", [1e-6, 1.0, 3.3])
def test_other_weights_leave_their_shares_and_the_effective_number_of_rows(scale):
    found = Selection.weighted(np.array([0.2, 0.9]), np.array([False, True]), scale * np.array([0.5, 1.5]))
    assert found.count[found.count > 0] == pytest.approx([0.4, 1.2])
    assert found.count.sum() == pytest.approx(2**2 / (0.5**2 + 1.5**2))
    assert found.risk_coverage.risk == pytest.approx([0.0, 0.25])
