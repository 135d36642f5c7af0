"""All metrics of labelled rows, with errors that are what repetition shows."""

import numpy as np
import pytest

from slova import NONE, Scorer
from slova.evaluation import Conformity, evaluate
from slova.heads import Readout
from slova.metrics import brier, ece, nll


def scored(seed=0, rows=1000, classes=4, sharpness=1.0, none=0.0):
    """Logits whose softmax of `sharpness` 1 is the truth."""
    generator = np.random.default_rng(seed)
    logits = generator.normal(0, 2, (rows, classes))
    probs = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    labels = (probs.cumsum(axis=1) < generator.random((rows, 1))).sum(axis=1)
    return sharpness * logits, np.where(generator.random(rows) < none, NONE, labels)


def measured(*given, **options):
    logits, labels = scored(*given, **options)
    return Scorer.fit(logits, labels, head="softmax", calibration=None).evaluate(logits, labels)


def test_the_metrics_are_those_of_the_library():
    logits, labels = scored()
    scorer = Scorer.fit(logits, labels, head="softmax", calibration=None)
    found, probs = scorer.evaluate(logits, labels), scorer.predict_proba(logits)[:, :-1]
    assert found.ece.value == pytest.approx(ece(probs, labels))
    assert found.nll.value == pytest.approx(nll(np.log(probs), labels))
    assert found.brier.value == pytest.approx(brier(probs, labels))
    assert found.accuracy.value == pytest.approx(np.mean(probs.argmax(axis=1) == labels))
    assert (found.rows, found.none_rows) == (1000, 0)
    assert str(found).splitlines()[1].split()[0] == "accuracy"


def test_the_errors_are_those_of_repetition():
    draws = [measured(seed, sharpness=1.5) for seed in range(60)]
    for name in ("accuracy", "nll", "brier", "ece"):
        values, errors = zip(*(getattr(draw, name) for draw in draws), strict=True)
        assert np.mean(errors) == pytest.approx(np.std(values), rel=0.4)
    inside = [low <= np.mean([draw.accuracy.value for draw in draws]) <= high for low, high in
              (draw.accuracy.interval for draw in draws)]  # fmt: skip
    assert np.mean(inside) > 0.85


def test_a_calibrated_model_has_the_ece_that_is_said():
    draws = [measured(seed) for seed in range(40)]
    assert np.mean([draw.ece.value for draw in draws]) == pytest.approx(draws[0].perfect_ece, rel=0.15)


def test_none_rows_count_as_wrong_and_have_a_probability_of_their_own():
    logits, labels = scored(none=0.3)
    found = Scorer.fit(logits, labels, head="softmax").evaluate(logits, labels)
    assert found.none_rows == np.sum(labels == NONE)
    assert found.accuracy.value < 0.75
    assert np.isfinite(found.nll.value)
    assert measured(none=0.3).nll.value == np.inf  # a softmax alone rules NONE out


def test_weights_count_rows():
    logits, labels = scored()
    weight = np.random.default_rng(1).integers(0, 3, len(labels)).astype(float)
    scorer = Scorer(classes=4)
    one = evaluate(scorer.predict(logits), scorer(logits), labels, weight=weight)
    repeated = np.repeat(np.arange(len(labels)), weight.astype(int))
    other = evaluate(scorer.predict(logits[repeated]), scorer(logits[repeated]), labels[repeated])
    for name in ("accuracy", "nll", "brier", "ece"):
        assert getattr(one, name).value == pytest.approx(getattr(other, name).value)
    assert one.aurc == pytest.approx(other.aurc)


def test_conformity_keeps_the_probability_of_the_true_outcome():
    readout = Readout(np.log([[0.7, 0.2], [0.1, 0.5]]), np.log([0.1, 0.4]))
    scores, outcomes = Conformity.of(readout, np.array([0, NONE])).columns
    assert scores == pytest.approx([0.7, 0.4])
    assert outcomes.tolist() == [0, 2]
    many = Conformity.of(Readout(np.zeros((30_000, 2)), np.zeros(30_000)), np.zeros(30_000, int))
    assert many.columns[0].shape == (20_000,)
