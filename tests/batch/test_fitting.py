"""Fits by histograms: they do not depend on the partitioning, and their cross-fitted ECE is not optimistic."""

from dataclasses import dataclass
from functools import reduce
from operator import add

import numpy as np
import pytest

from slova.batch.fitting import FOLDS, Plan, fit_and_evaluate, fit_scorer
from slova.batch.metric_states import calibration
from slova.heads import HEADS
from slova.io import Block
from slova.scorer import Scorer


@dataclass(frozen=True)
class InMemory:
    """Arrays as rows, in blocks of any size."""

    logits: np.ndarray
    labels: np.ndarray
    size: int = 100

    @property
    def classes(self) -> int:
        return self.logits.shape[1]

    def fold(self, of, *, labelled=True):
        cuts = range(0, len(self.labels), self.size)
        blocks = ((first, slice(first, first + self.size)) for first in cuts)
        return reduce(add, (of(Block(self.logits[some], self.labels[some], 1.0), first) for first, some in blocks))


def few(seed: int, rows: int = 60) -> InMemory:
    """So few rows, with labels of pure chance, that a map fits itself to them."""
    generator = np.random.default_rng(seed)
    return InMemory(generator.normal(0, 2, (rows, 2)), generator.integers(0, 2, rows))


@pytest.mark.filterwarnings("ignore::slova.calibration.SmallValidationWarning")
def test_the_ece_after_a_fit_is_that_of_rows_which_it_did_not_see():
    plan = Plan(pairs="top")
    found = [(few(seed), fit_and_evaluate(few(seed), plan)) for seed in range(8)]
    seen = [calibration(fit.scorer, rows.logits, rows.labels).value for rows, fit in found]
    assert np.mean([fit.after for _, fit in found]) > np.mean(seen) + 0.005


@pytest.mark.parametrize("head", HEADS)
def test_a_fit_does_not_depend_on_how_rows_are_cut_up(head):
    rows = few(0, 500)
    rows.labels[:50] = -1
    one, other = (fit_and_evaluate(InMemory(rows.logits, rows.labels, size), Plan(head=head)) for size in (7, 500))
    np.testing.assert_allclose(one.scorer.calibrator.weights, other.scorer.calibrator.weights, rtol=1e-6)
    assert (one.rows, one.none_rows) == (other.rows, other.none_rows) == (500, 50)
    assert (one.before, one.after) == pytest.approx((other.before, other.after), abs=1e-9)
    assert one.scorer.none_is_calibrated == (head != "softmax")


def test_a_fit_without_folds_is_the_same_fit():
    rows = few(1, 300)
    one, other = fit_scorer(rows, Plan()), fit_and_evaluate(rows, Plan()).scorer
    np.testing.assert_allclose(one.calibrator.weights, other.calibrator.weights, rtol=1e-6)
    np.testing.assert_array_equal(one.validation.count, other.validation.count)


@pytest.mark.filterwarnings("ignore::slova.calibration.SmallValidationWarning")
def test_with_too_few_rows_there_is_no_cross_fitted_ece():
    assert fit_and_evaluate(few(2, FOLDS - 1), Plan()).after is None


def test_without_a_map_the_bare_head_is_kept():
    found = fit_and_evaluate(few(3), Plan(calibration="none"))
    assert found.scorer.calibrator is None
    assert found.after == pytest.approx(found.before)
    assert isinstance(found.scorer, Scorer)
