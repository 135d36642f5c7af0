"""One evaluation of a group of methods: every readout and every calibration is computed once per test set."""

from dataclasses import replace

import numpy as np
import pytest
from slova_bench.dataset_recipes import DATASET_RECIPES
from slova_bench.experiment import Evaluator, Variant
from slova_bench.experiments import experiments
from slova_bench.methods import find
from slova_bench.pipeline import Bench
from slova_bench.results import Results
from slova_bench.runner import stored
from slova_bench.test_sets import TestSet

from slova.calibration import TemperatureScaling

(SOFTMAX,) = find(["softmax"])
TESTS = [TestSet("digits-test"), TestSet("digits-test", "contrast", 5), TestSet("uniform")]


@pytest.fixture(scope="module")
def bench() -> Bench:
    return Bench(DATASET_RECIPES["digits"].quick(), limit=50)


@pytest.fixture
def counted():
    """A method that counts the calls of its head and of its calibrator."""
    calls = {"head": 0, "calibrator": 0}

    def head(logits):
        calls["head"] += 1
        return SOFTMAX.head(logits)

    def fit(log_probs, labels):
        fitted = TemperatureScaling.fit(log_probs, labels)

        def calibrator(log_probs):
            calls["calibrator"] += 1
            return fitted(log_probs)

        return calibrator

    return replace(SOFTMAX, head=head, calibrate=fit), calls


def test_readouts_and_calibrations_are_computed_once_per_set(bench, counted):
    method, calls = counted
    variant = Variant(method)
    evaluator = Evaluator(bench, bench.trained(SOFTMAX, 0), [variant])
    for test in TESTS:
        evaluator.measure(experiments()["ood"], test, [variant])
    assert calls == {"head": len(TESTS) + 1, "calibrator": len(TESTS)}, "one more readout, of the validation set"


def test_the_clean_score_is_the_one_of_the_clean_set(bench):
    evaluator = Evaluator(bench, bench.trained(SOFTMAX, 0), [Variant(SOFTMAX)])
    clean, shifted = (next(evaluator._evaluations(test, [Variant(SOFTMAX)]))[1] for test in TESTS[:2])
    assert np.array_equal(clean.score, shifted.clean_score)
    assert not np.array_equal(shifted.score, shifted.clean_score)
    assert np.array_equal(clean.score, np.exp(clean.readout.log_probs).max(-1))


def test_the_rows_of_an_experiment_are_stored_when_they_are_yielded(bench, tmp_path):
    results = Results(tmp_path, "directions-digits")
    stream = stored(experiments()["directions"].work(bench, results, [SOFTMAX], [0]), results)
    first = next(stream)
    assert [row.key for row in results.read()] == [row.key for row in first]
