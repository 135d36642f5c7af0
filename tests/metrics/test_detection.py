from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slova.metrics import Detection, aupr, auroc, fpr95

CONFIDENCES = st.lists(
    st.sampled_from([0.0, 0.2, 0.5, 0.5 + 1e-9, 0.9, 1.0]) | st.floats(0, 1), min_size=1, max_size=30
)


@given(CONFIDENCES, CONFIDENCES)
def test_auroc_is_the_share_of_pairs_in_order_ties_counting_half(inside, outside):
    pairs = [(a > b) + (a == b) / 2 for a in inside for b in outside]
    assert auroc(np.array(inside), np.array(outside)) == pytest.approx(np.mean(pairs), abs=1e-12)


@given(CONFIDENCES, CONFIDENCES)
def test_aupr_is_the_mean_precision_at_the_inside_rows(inside, outside):
    def precision(threshold):
        accepted = sum(a >= threshold for a in inside)
        return accepted / (accepted + sum(b >= threshold for b in outside))

    assert aupr(np.array(inside), np.array(outside)) == pytest.approx(
        np.mean([precision(a) for a in inside]), abs=1e-12
    )


@given(CONFIDENCES, CONFIDENCES)
def test_fpr95_accepts_at_the_largest_threshold_that_keeps_95_percent(inside, outside):
    kept = [t for t in inside if Fraction(sum(a >= t for a in inside), len(inside)) >= Fraction(95, 100)]
    expected = np.mean([b >= max(kept) for b in outside])
    assert fpr95(np.array(inside), np.array(outside)) == expected


def test_more_confident_inside_rows_are_the_good_direction():
    low, high = np.array([0.1, 0.2]), np.array([0.8, 0.9])
    assert (auroc(high, low), aupr(high, low), fpr95(high, low)) == (1.0, 1.0, 0.0)
    assert (auroc(low, high), fpr95(low, high)) == (0.0, 1.0)
    assert aupr(low, high) == pytest.approx((1 / 3 + 2 / 4) / 2)


def test_a_confidence_equal_to_the_threshold_is_accepted():
    inside = np.arange(1, 21) / 20
    assert fpr95(inside, np.array([0.1, 0.1 - 1e-9])) == 0.5


def test_any_finite_confidence_has_a_rank():
    inside, outside = np.array([3.0, 700.0]), np.array([-5.0, 4.0])
    assert auroc(inside, outside) == 0.75


def test_a_batch_may_lack_one_kind_but_a_value_needs_both():
    state = Detection.of(np.array([0.9]), np.array([]))
    with pytest.raises(ValueError, match="both kinds are needed, got 1 inside and 0 outside"):
        _ = state.auroc
    merged = state + Detection.of(np.array([]), np.array([0.1, 0.95]))
    assert merged.auroc == (0.5, 0.0)


def test_sure_confidences_are_ranked_exactly_down_to_the_last_float():
    last = 1.0 - 2.0**-53
    state = Detection.of(np.array([1.0] * 50), np.array([last] * 50))
    assert (state.auroc, state.fpr95, state.aupr) == ((1.0, 0.0), (0.0, 0.0), (1.0, 0.0))
