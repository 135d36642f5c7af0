"""Pairs and their moving averages, in memory and in the fixed size of a histogram."""

import functools
import itertools
import operator

import numpy as np
import pytest

from slova.calibration import ExponentialCalibration, PairHistogram, Pairs
from slova.heads import NONE, log_slova


def rows_of(seed=0, rows=2000, classes=10, scale=3.0):
    generator = np.random.default_rng(seed)
    labels = generator.integers(NONE, classes, rows)
    logits = generator.normal(-2, scale / 2, (rows, classes))
    logits[np.arange(rows), labels] += np.where(labels == NONE, 0.0, generator.normal(scale, scale, rows))
    return log_slova(logits), labels


def test_the_moving_averages_are_those_of_the_papers_loop():
    log_probs, labels = rows_of(rows=60, classes=5)
    pairs = sorted((p, k == label) for row, label in zip(log_probs, labels, strict=True) for k, p in enumerate(row))
    window = len(pairs) // 100
    places = range(len(pairs) - window + 1)
    probability = [np.mean([np.exp(p) for p, _ in pairs[i : i + window]]) for i in places]
    share = [np.mean([hit for _, hit in pairs[i : i + window]]) for i in places]
    found = Pairs.of(log_probs, labels).averages(points=None)
    np.testing.assert_allclose(found[0], probability, rtol=1e-9, atol=1e-15)
    np.testing.assert_allclose(found[1], share, atol=1e-12)


def test_points_are_equally_spaced_windows_from_the_first_to_the_last():
    pairs = Pairs.of(*rows_of(rows=101, classes=4))
    every, some = pairs.averages(window=5, points=None), pairs.averages(window=5, points=101)
    np.testing.assert_allclose(some[0][[0, -1]], every[0][[0, -1]])
    np.testing.assert_allclose(some[1], every[1][np.linspace(0, len(every[1]) - 1, 101).astype(int)], atol=0.2)


def test_equal_probabilities_share_their_hits_whatever_the_order():
    log_probs, labels = np.full((100, 1), -1.0), np.where(np.arange(100) < 30, 0, NONE)
    for order in (np.arange(100), np.arange(100)[::-1]):
        probability, share = Pairs.of(log_probs, labels[order]).averages(window=10, points=None)
        np.testing.assert_allclose(probability, np.exp(-1))
        np.testing.assert_allclose(share, 0.3)


def test_top_pairs_are_one_per_row():
    log_probs, labels = rows_of()
    pairs = Pairs.of(log_probs, labels, which="top")
    assert pairs.total == len(labels)
    assert pairs.hits.sum() == (log_probs.argmax(1) == labels).sum()
    assert Pairs.of(log_probs, labels).hits.sum() == (labels != NONE).sum()


@pytest.mark.parametrize("which", ["all", "top"])
def test_histograms_of_batches_merge_in_any_order_to_the_histogram_of_all(which):
    log_probs, labels = rows_of(rows=300)
    whole = PairHistogram.of(log_probs, labels, which=which)
    parts = [PairHistogram.of(log_probs[i::3], labels[i::3], which=which) for i in range(3)]
    for order in itertools.permutations(parts):
        merged = functools.reduce(operator.add, order)
        np.testing.assert_array_equal(merged.count, whole.count)
        np.testing.assert_array_equal(merged.hits, whole.hits)
        np.testing.assert_allclose(merged.total, whole.total, rtol=1e-12)


@pytest.mark.parametrize("which", ["all", "top"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_histogram_gives_the_calibrator_of_the_rows_it_saw(which, dtype):
    log_probs, labels = rows_of()
    log_probs = log_probs.astype(dtype)
    exact = ExponentialCalibration.fit(log_probs, labels, which=which)
    binned = ExponentialCalibration.fit_pairs(PairHistogram.of(log_probs, labels, which=which).pairs)
    seen = log_probs if which == "all" else log_probs.max(1)
    assert np.exp(binned(seen)) == pytest.approx(np.exp(exact(seen)), abs=1e-3)
    assert binned.report.pairs == exact.report.pairs


def test_a_histogram_keeps_zero_one_and_what_is_too_small_for_a_number():
    log_probs = np.array([[0.0, -np.inf], [-800.0, -1e-30], [-5000.0, -1.0]])
    pairs = PairHistogram.of(log_probs, np.array([0, 0, 0])).pairs
    assert pairs.total == 6
    assert pairs.hits.sum() == 3
    assert np.isneginf(pairs.log_p).sum() == 1
    assert np.all(np.diff(pairs.log_p) > 0)
    assert np.min(np.abs(pairs.log_p + 800)) < 2
    assert pairs.log_p[-1] == 0


def test_a_file_carries_a_histogram(tmp_path):
    histogram = PairHistogram.of(*rows_of(rows=50), which="top")
    histogram.save(tmp_path / "s.slova")
    loaded = PairHistogram.load(tmp_path / "s.slova")
    assert loaded.which == "top"
    np.testing.assert_array_equal((loaded + histogram).count, 2 * histogram.count)
