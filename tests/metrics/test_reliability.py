import numpy as np
import pytest
from scipy.stats import binomtest

from slova.metrics import Ece, Reliability, ece, reliability


def rows(count, seed=0):
    generator = np.random.default_rng(seed)
    probs = generator.dirichlet(np.full(3, 0.5), size=count) * 0.9
    return probs, generator.integers(-1, 3, size=count)


@pytest.mark.parametrize("binning", ["width", "mass"])
def test_the_gaps_of_the_curve_weighted_by_rows_are_the_ece(binning):
    probs, labels = rows(500)
    curve = reliability(probs, labels, bins=10, binning=binning)
    gaps = np.abs(curve.accuracy - curve.confidence) * curve.count / curve.count.sum()
    assert gaps.sum() == pytest.approx(ece(probs, labels, bins=10, binning=binning), abs=1e-12)


@pytest.mark.parametrize("binning", ["width", "mass"])
def test_bins_without_rows_are_left_out_and_the_others_hold_their_confidence(binning):
    probs, labels = np.array([[0.0], [0.0], [0.6], [1.0]]), np.array([0, -1, 0, 0])
    curve = reliability(probs, labels, bins=5, binning=binning)
    assert curve.count.tolist() == [2, 1, 1]
    assert curve.confidence.tolist() == [0.0, 0.6, 1.0]
    assert curve.accuracy.tolist() == [0.5, 1.0, 1.0]
    assert (curve.lower <= curve.confidence).all()
    assert (curve.confidence <= curve.upper).all()


def test_the_edges_are_those_of_the_width_or_the_extremes_of_the_mass():
    probs, labels = np.array([[0.1], [0.2], [0.7], [0.9]]), np.zeros(4, dtype=int)
    width, mass = (reliability(probs, labels, bins=2, binning=binning) for binning in ("width", "mass"))
    assert (width.lower.tolist(), width.upper.tolist()) == ([0.0, 0.5], [0.5, 1.0])
    assert (mass.lower.tolist(), mass.upper.tolist()) == ([0.1, 0.7], [0.2, 0.9])


@pytest.mark.parametrize("level", [0.5, 0.95])
def test_the_interval_is_the_exact_one(level):
    curve = reliability(*rows(200), bins=30, level=level)
    for n, accuracy, low, high in zip(curve.count, curve.accuracy, curve.low, curve.high, strict=True):
        expected = binomtest(round(accuracy * n), n).proportion_ci(level, method="exact")
        assert (low, high) == pytest.approx((expected.low, expected.high), abs=1e-9)


def test_the_interval_covers_the_truth_at_least_as_often_as_it_says():
    generator, covered = np.random.default_rng(0), []
    for _ in range(300):
        confidence = generator.random(200)
        labels = np.where(generator.random(200) < confidence, 0, -1)
        curve = reliability(confidence[:, None], labels, bins=4, level=0.8)
        covered.extend((curve.low <= curve.confidence) & (curve.confidence <= curve.high))
    assert np.mean(covered) > 0.8


def test_the_curve_of_a_merged_state_is_that_of_all_rows():
    probs, labels = rows(100)
    merged = Reliability.of(Ece.of(probs[:30], labels[:30]) + Ece.of(probs[30:], labels[30:]), level=0.9)
    whole = reliability(probs, labels, level=0.9)
    for name, found in vars(merged).items():
        np.testing.assert_allclose(found, getattr(whole, name), rtol=1e-12)


def test_a_level_that_is_no_probability_is_refused():
    with pytest.raises(ValueError, match=r"level must lie in \(0, 1\), got 95"):
        reliability(*rows(10), level=95)
