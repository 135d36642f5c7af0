"""Fits by histograms: they do not depend on the partitioning, and their cross-fitted ECE is not optimistic."""

from dataclasses import dataclass
from functools import reduce
from operator import add

import numpy as np
import pytest

from slova.batch.fitting import FOLDS, Plan, fit_and_evaluate, fit_scorer
from slova.io import Block


@dataclass(frozen=True)
class InMemory:
    """Arrays as rows, in blocks of any size."""

    logits: np.ndarray
    labels: np.ndarray
    size: int = 100

    @property
    def classes(self) -> int:
        return self.logits.shape[1]

    def first(self, *, labelled=True):
        return Block(self.logits, self.labels, 1.0)

    def fold(self, of, *, labelled=True):
        cuts = range(0, len(self.labels), self.size)
        blocks = ((first, slice(first, first + self.size)) for first in cuts)
        return reduce(add, (of(Block(self.logits[some], self.labels[some], 1.0), first) for first, some in blocks))


def few(seed: int, rows: int = 60, skill: float = 0.0) -> InMemory:
    """So few rows that a calibrator fits itself to them; without skill their labels are pure chance."""
    generator = np.random.default_rng(seed)
    logits, labels = generator.normal(0, 2, (rows, 2)), generator.integers(0, 2, rows)
    return InMemory(logits + skill * np.eye(2)[labels], labels)


@pytest.mark.filterwarnings("ignore::slova.calibration.SmallValidationWarning")
def test_the_ece_after_a_fit_is_that_of_rows_which_it_did_not_see():
    plan = Plan(pairs="top")
    found = [(few(seed), fit_and_evaluate(few(seed), plan)) for seed in range(8)]
    seen = [scorer.evaluate(rows.logits, rows.labels).ece.value for rows, scorer in found]
    assert np.mean([scorer.report.ece_after for _, scorer in found]) > np.mean(seen) + 0.005


@pytest.mark.parametrize("head", ["slova", "ova", "softmax"])
def test_a_fit_does_not_depend_on_how_rows_are_cut_up(head):
    rows = few(0, 500, skill=1.0)
    rows.labels[:50] = -1
    one, other = (fit_and_evaluate(InMemory(rows.logits, rows.labels, size), Plan(head=head)) for size in (7, 500))
    np.testing.assert_allclose(one.calibrator.weights, other.calibrator.weights, rtol=1e-6)
    assert (one.report.rows, one.report.none_rows) == (500, 50)
    for name, value in one.report.to_dict().items():
        assert other.report.to_dict()[name] == (value if name == "found" else pytest.approx(value, abs=1e-9))
    assert one.none == "calibrated"


def test_a_fit_without_folds_is_the_same_fit():
    rows = few(1, 300, skill=1.0)
    one, other = fit_scorer(rows, Plan()), fit_and_evaluate(rows, Plan())
    np.testing.assert_allclose(one.calibrator.weights, other.calibrator.weights, rtol=1e-6)
    np.testing.assert_array_equal(one.validation.count, other.validation.count)


@pytest.mark.filterwarnings("ignore::slova.calibration.SmallValidationWarning")
def test_with_too_few_rows_the_report_is_of_the_rows_of_the_fit():
    rows = few(2, FOLDS - 1)
    scorer = fit_and_evaluate(rows, Plan())
    assert scorer.report.ece_after == pytest.approx(scorer.evaluate(rows.logits, rows.labels).ece.value)


def test_the_head_is_recognised_on_the_first_rows():
    generator = np.random.default_rng(0)
    probs = generator.dirichlet([1, 1, 1], 300)
    labels = (generator.random((300, 1)) > probs.cumsum(axis=1)[:, :-1]).sum(axis=1)
    found = fit_and_evaluate(InMemory(probs, labels), Plan())
    assert found.head.name == "probabilities"
    assert found.report.found == "the rows are probabilities that sum to one, by the first 300 rows"


def test_a_streamed_fit_has_no_prediction_sets_without_rows():
    rows = few(0, 500, skill=1.0)
    scorer = fit_and_evaluate(rows, Plan(head="softmax"))
    with pytest.raises(ValueError, match="only if this had all rows in memory"):
        scorer.predict_set(rows.logits)
    assert scorer.predict_set(rows.logits, calibration_logits=rows.logits, calibration_labels=rows.labels).shape == (
        500,
        3,
    )


def test_without_a_calibrator_the_bare_head_is_kept():
    found = fit_and_evaluate(few(3), Plan(calibration="none"))
    assert found.calibrator is None
    assert found.report.ece_after == pytest.approx(found.report.ece_before)
