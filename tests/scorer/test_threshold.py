"""Thresholds and weights of a scorer."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from slova import extreme
from slova.calibration import CALIBRATORS
from slova.heads import NONE
from slova.scorer import Scorer

CALIBRATIONS = {"none": None} | {name: name for name, kind in CALIBRATORS.items() if kind.takes != "logits"}


@given(st.integers(0, 2**31), st.sampled_from([0.1, 0.2, 0.3]))
@settings(max_examples=10, deadline=None)
def test_the_threshold_keeps_its_risk_on_fresh_rows(rows_of, seed, risk):
    logits, labels = rows_of(seed, rows=600)
    scorer = Scorer.fit(logits, labels)
    try:
        reject = scorer.threshold(risk=risk)
    except ValueError as error:
        assert "no threshold guarantees" in str(error)  # noqa: PT017
        return
    fresh, truth = rows_of(seed + 1, rows=4000)
    for kind in (np.asarray, torch.as_tensor):
        label = np.asarray(scorer.predict(kind(fresh), reject=reject).label)
        assert np.mean((label != truth)[label != NONE]) <= risk + 0.05


@pytest.mark.parametrize("kind", [np.asarray, torch.as_tensor])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_threshold_keeps_its_risk_among_saturated_confidences(kind, dtype):
    """1 - 3e-8 is always right and 1 - 6e-7 every other time."""
    logits, labels = np.zeros((8000, 3), dtype), np.zeros(8000, int)
    logits[:4000, 0], logits[4000:, 0] = 18, 15
    labels[4000::2] = 1
    scorer = Scorer.fit(logits, labels, head="softmax", calibration=None)
    answered = np.asarray(scorer.predict(kind(logits), reject=scorer.threshold(risk=0.02)).label) != NONE
    assert answered.tolist() == [True] * 4000 + [False] * 4000


def test_the_threshold_counts_a_row_as_often_as_its_weight_says(rows_of):
    logits, labels = rows_of()
    weight = np.random.default_rng(0).integers(0, 4, len(labels))
    weighted = Scorer.fit(logits, labels, calibration=None, weight=weight)
    repeated = Scorer.fit(logits.repeat(weight, 0), labels.repeat(weight), calibration=None)
    for name in ("ece_before", "ece_after", "nll_after"):
        assert getattr(weighted.report, name) == pytest.approx(getattr(repeated.report, name))
    for guarantee in ({"risk": 0.3}, {"risk": 0.25, "delta": None}, {"coverage": 0.4}):
        assert weighted.threshold(**guarantee) == repeated.threshold(**guarantee)
    halved = Scorer.fit(logits, labels, calibration=None, weight=weight / 2)
    assert halved.threshold(risk=0.25, delta=None) == weighted.threshold(risk=0.25, delta=None)
    with pytest.raises(ValueError, match="weights that are not whole numbers"):
        halved.threshold(risk=0.3)


@pytest.mark.filterwarnings("ignore:the calibration is not good")
@pytest.mark.parametrize("calibration", [name for name in CALIBRATIONS if name != "posterior"])
@pytest.mark.parametrize("total", [1.0, 2.0**64])
def test_the_sum_of_weights_has_no_effect(rows_of, calibration, total):
    logits, labels = rows_of()
    weight = 1.0 + np.arange(len(labels)) % 3
    scorers = [
        Scorer.fit(logits, labels, head="slova", calibration=CALIBRATIONS[calibration], weight=weight * scale)
        for scale in (1.0, total / weight.sum())
    ]
    one, other = (scorer.predict(logits) for scorer in scorers)
    np.testing.assert_allclose(one.confidence, other.confidence, atol=1e-5)
    np.testing.assert_allclose(one.none, other.none, atol=1e-5)
    one, other = (scorer.threshold(risk=0.3, delta=None) for scorer in scorers)
    assert one == pytest.approx(other, abs=1e-5)


def test_weights_of_another_number_of_rows_are_refused(rows_of):
    with pytest.raises(ValueError, match=r"weight \(3,\) does not match labels \(1500,\)"):
        Scorer.fit(*rows_of(none=0), calibration=None, weight=np.ones(3))


@pytest.mark.parametrize("reject", [np.nan, 50, -0.1, np.inf, np.array([0.5, 1.5]), torch.tensor([0.5, np.nan])])
def test_a_threshold_outside_0_and_1_is_refused(reject):
    with pytest.raises(ValueError, match=r"reject must lie in \[0, 1\], got"):
        Scorer(classes=3).predict(np.zeros((2, 3)), reject=reject)
    with pytest.raises(ValueError, match=r"reject must lie in \[0, 1\], got"):
        extreme.predict(Scorer(classes=3), torch.zeros(2, 4), torch.zeros(3, 4), reject=reject)


@pytest.mark.parametrize("kind", [np.asarray, torch.as_tensor])
def test_every_row_may_have_a_threshold_of_its_own(kind):
    logits = np.array([[3.0, -3.0, -3.0]] * 2)
    found = Scorer(classes=3).predict(kind(logits), reject=kind(np.array([0.5, 1.0])))
    assert found.label.tolist() == [0, NONE]


def test_a_scorer_without_validation_knows_no_threshold():
    with pytest.raises(ValueError, match="was not fitted on a validation set"):
        Scorer(classes=3).threshold(risk=0.1)
