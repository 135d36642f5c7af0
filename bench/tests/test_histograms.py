"""Confidence histograms on disk: counts are kept exactly, sums of confidence to a hundredth of an image."""

import numpy as np
import pytest
from slova_bench.histograms import Histogram, Histograms
from slova_bench.results import Cell

CELL = Cell("shift", "slova", "", "digits-train", "digits-test", "", 0.0, 0, 400)


def histogram(drawn: int = 0, **parts) -> Histogram:
    generator = np.random.default_rng(drawn)
    confidence = np.concatenate([generator.beta(4, 1, 398), [0.0, 1.0]])
    return Histogram.of(CELL._replace(**parts), confidence, generator.random(400) < confidence)


@pytest.fixture
def histograms(tmp_path):
    return Histograms(tmp_path / "shift-digits.csv")


def test_counts_are_kept_and_sums_to_a_hundredth(histograms):
    made = [histogram(0), histogram(1, seed=1), histogram(2, parameter="M", parameter_value=20.0)]
    histograms.append(made)
    for one, kept in zip(made, histograms.read(), strict=True):
        assert kept.cell == one.cell
        np.testing.assert_array_equal(kept.bins, one.bins)
    histograms.close()
    found = {one.key: one for one in histograms.read()}
    assert found.keys() == {one.key for one in made}
    for one in made:
        kept = found[one.key]
        assert kept.cell == one.cell
        np.testing.assert_array_equal(kept.bins[:2], one.bins[:2])
        np.testing.assert_allclose(kept.bins[2], one.bins[2], atol=0.005 + 1e-9)


def test_closing_again_changes_nothing(histograms):
    histograms.append([histogram(0), histogram(1, seed=1)])
    histograms.close()
    before = histograms.path.read_bytes()
    histograms.close()
    assert histograms.path.read_bytes() == before
    histograms.append([histogram(5)])
    assert len(histograms.read()) == 2
    np.testing.assert_array_equal(histograms.read()[0].bins, histogram(5).bins)
