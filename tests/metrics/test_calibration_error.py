from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slova.heads import NONE
from slova.metrics import ClasswiseEce, Ece, classwise_ece, ece
from slova.metrics.binning import bin_index

BINS = st.integers(1, 40)


def column(confidence, hits):
    """Rows of one class, right where `hits`."""
    return np.asarray(confidence, dtype=float)[:, None], np.where(hits, 0, NONE)


def naive_ece(confidence, hits, index):
    chosen = [np.flatnonzero(index == b) for b in set(index)]
    return sum(abs(sum(hits[i]) - sum(confidence[i])) for i in chosen) / len(confidence)


@given(BINS, st.data())
def test_bins_of_equal_width_are_closed_on_the_left_and_the_last_one_on_both_sides(bins, data):
    b = data.draw(st.integers(0, bins - 1))
    edge = float(Fraction(b, bins))
    below = np.nextafter(edge, -1.0)
    assert bin_index(np.array([0.0, 1.0, edge]), bins, "width").tolist() == [0, bins - 1, b]
    assert b == 0 or bin_index(np.array([below]), bins, "width").tolist() == [b - 1]


def test_typed_decimals_are_the_edges_they_look_like():
    decimals = np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9])
    assert bin_index(decimals, 10, "width").tolist() == list(range(1, 10))


@given(st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1), BINS)
def test_ece_is_its_definition(rows, bins):
    confidence, hits = np.array([c for c, _ in rows]), np.array([h for _, h in rows])
    index = np.array([max(b for b in range(bins) if float(Fraction(b, bins)) <= c) for c in confidence])
    assert ece(*column(confidence, hits), bins=bins) == pytest.approx(naive_ece(confidence, hits, index), abs=1e-12)


def test_a_sure_and_right_classifier_has_no_error_and_a_sure_and_wrong_one_all_of_it():
    for binning in ("width", "mass"):
        assert ece(np.eye(3), np.arange(3), binning=binning) == 0.0
        assert ece(np.eye(3), (np.arange(3) + 1) % 3, binning=binning) == 1.0
        assert ece(np.zeros((2, 3)), np.array([NONE, 1]), binning=binning) == 0.0


def test_a_none_row_counts_as_wrong():
    assert ece(np.array([[0.75, 0.25]]), np.array([NONE])) == 0.75
    assert classwise_ece(np.array([[0.75, 0.25]]), np.array([NONE])) == 0.5


def test_bins_of_equal_mass_hold_equally_many_distinct_rows():
    confidence = np.random.default_rng(0).random(60)
    assert np.bincount(bin_index(confidence, 15, "mass")).tolist() == [4] * 15
    assert set(np.bincount(bin_index(confidence[:50], 15, "mass"))) == {3, 4}


@given(st.lists(st.sampled_from([0.0, 0.1, 0.5, 0.9, 1.0]), min_size=1, max_size=40), BINS)
def test_bins_of_equal_mass_never_split_ties_and_take_the_middle_rank(confidence, bins):
    index = bin_index(np.array(confidence), bins, "mass")
    for value, found in zip(confidence, index, strict=True):
        middle = sum(c < value for c in confidence) + Fraction(sum(c == value for c in confidence), 2)
        assert found == int(middle * bins / len(confidence))


def test_equal_mass_sees_what_equal_width_averages_away():
    probs, labels = column([0.91, 0.99], [True, False])
    assert ece(probs, labels, bins=2) == pytest.approx(0.45)
    assert ece(probs, labels, bins=2, binning="mass") == pytest.approx(0.54)


def test_classwise_ece_is_the_mean_of_the_binary_errors():
    generator = np.random.default_rng(0)
    probs, labels = generator.dirichlet(np.ones(3), size=200) * 0.9, generator.integers(-1, 3, size=200)
    for binning in ("width", "mass"):
        singles = [ece(*column(probs[:, k], labels == k), binning=binning) for k in range(3)]
        assert classwise_ece(probs, labels, binning=binning) == pytest.approx(np.mean(singles), abs=1e-12)


@given(st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1, max_size=12), st.integers(1, 3))
def test_the_debiased_square_is_the_mean_over_pairs(rows, bins):
    confidence, hits = np.array([c for c, _ in rows]), np.array([h for _, h in rows])
    index, residual, total = bin_index(confidence, bins, "width"), hits - confidence, 0.0
    for b in range(bins):
        d = residual[index == b]
        pairs = [d[i] * d[j] for i in range(len(d)) for j in range(len(d)) if i != j]
        total += len(d) / len(rows) * (np.mean(pairs) if pairs else 0.0)
    state = Ece.of(*column(confidence, hits), bins=bins)
    assert state.debiased_square == pytest.approx(total, abs=1e-12)
    assert state.debiased == pytest.approx(max(total, 0.0) ** 0.5, abs=1e-6)


@pytest.mark.parametrize("shift", [0.0, 0.1])
def test_debiasing_removes_the_error_that_noise_alone_makes(shift):
    generator = np.random.default_rng(0)
    runs = []
    for _ in range(400):
        confidence = generator.uniform(0.2, 0.8, 300)
        runs.append(Ece.of(*column(confidence, generator.random(300) < confidence + shift)))
    plain = [(np.square(run.hits - run.total) / np.maximum(run.count, 1)).sum() / 300 for run in runs]
    unbiased = [run.debiased_square for run in runs]
    standard_error = np.std(unbiased) / 20
    assert abs(np.mean(unbiased) - shift**2) < 3 * standard_error
    assert np.mean(plain) - shift**2 > 15 * standard_error


def test_on_calibrated_rows_the_debiased_error_is_a_fraction_of_the_plain_one():
    generator = np.random.default_rng(1)
    runs = [Ece.of(*column(c := generator.random(1000), generator.random(1000) < c)) for _ in range(200)]
    assert np.mean([run.debiased for run in runs]) < 0.4 * np.mean([run.value for run in runs])


def test_other_bins_or_classes_do_not_merge():
    probs, labels = np.full((2, 3), 0.3), np.array([0, 1])
    with pytest.raises(ValueError, match=r"Ece states do not merge: count \(15,\) and \(1,\)"):
        Ece.of(probs, labels) + Ece.of(probs, labels, bins=1)
    with pytest.raises(ValueError, match=r"ClasswiseEce states do not merge: count \(3, 15\) and \(2, 15\)"):
        ClasswiseEce.of(probs, labels) + ClasswiseEce.of(probs[:, :2], labels)


@pytest.mark.parametrize("metric", [ece, classwise_ece, Ece.of])
def test_a_number_of_bins_that_is_none_is_refused(metric):
    probs, labels = np.full((2, 3), 0.3), np.array([0, 1])
    with pytest.raises(ValueError, match="bins must be at least 1, got 0"):
        metric(probs, labels, bins=0)
    with pytest.raises(TypeError, match="bins must be a whole number, got float"):
        metric(probs, labels, bins=15.0)


def test_an_unknown_binning_is_refused_with_the_known_ones():
    with pytest.raises(ValueError, match=r"one of \['mass', 'width'\], got 'quantile'"):
        ece(np.full((2, 3), 0.3), np.array([0, 1]), binning="quantile")
