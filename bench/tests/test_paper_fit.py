"""The paper's optimiser depends on its seed alone, and the optimal fit is never worse."""

import numpy as np
import pytest
from slova_bench.paper_fit import fit_paper, paper_mixture

from slova.calibration import Pairs
from slova.calibration.exponential import smoothed
from slova.calibration.mixture import best_mixture
from slova.heads import NONE, log_slova


def rows_of(rows=1000, classes=10, scale=3.0, noise=0.1):
    generator = np.random.default_rng(0)
    labels = generator.integers(0, classes, rows)
    logits = generator.normal(-2.0, scale / 2, (rows, classes))
    logits[np.arange(rows), labels] += generator.normal(scale, scale, rows)
    return log_slova(logits), np.where(generator.random(rows) < noise, generator.integers(NONE, classes, rows), labels)


@pytest.mark.parametrize("classes", [2, 10, 50])
def test_the_optimal_fit_is_never_worse_than_the_papers_optimiser(classes):
    points = smoothed(Pairs.of(*rows_of(classes=classes)), points=500)
    assert best_mixture(points).error <= paper_mixture(points, epochs=10).error * (1 + 1e-9)


def test_the_papers_optimiser_depends_on_its_seed_alone():
    rows = rows_of(rows=200)
    one, two, other = (fit_paper(*rows, points=100, seed=seed) for seed in (0, 0, 1))
    np.testing.assert_array_equal(one.weights, two.weights)
    assert not np.array_equal(one.weights, other.weights)
    assert len(one.weights) == 20


def test_no_terms_are_refused():
    with pytest.raises(ValueError, match="got 0 and 20"):
        fit_paper(*rows_of(rows=200), terms=0)
