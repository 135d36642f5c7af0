"""The threshold keeps what it promises: on fresh rows, in all but a delta of the draws."""

import re

import numpy as np
import pytest

from slova.metrics import Selection
from slova.thresholds import threshold_for


def draw(generator, rows, *, ties=False):
    """Confidences that know something of the hits, and no more than that."""
    confidence = generator.random(rows)
    confidence = confidence.round(2) if ties else confidence
    return confidence, generator.random(rows) < 0.5 + 0.5 * confidence


def risk_above(threshold, confidence, hits):
    return np.mean(~hits[confidence >= threshold])


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize(("risk", "delta"), [(0.15, 0.2), (0.2, 0.1)])
def test_the_risk_on_fresh_rows_exceeds_the_promise_in_at_most_delta_of_the_draws(risk, delta, ties):
    generator, broken = np.random.default_rng(0), 0
    fresh = draw(generator, 100_000, ties=ties)
    for _ in range(100):
        validation = Selection.histogram(*draw(generator, 2000, ties=ties))
        broken += risk_above(threshold_for(validation, risk=risk, delta=delta), *fresh) > risk + 0.003
    assert broken <= delta * 100


def test_a_confidence_that_knows_nothing_is_trusted_in_at_most_delta_of_the_draws():
    """Every threshold has the true risk 0.2, so any that promises less is a broken promise."""
    generator, broken = np.random.default_rng(0), 0
    for _ in range(400):
        validation = Selection.histogram(generator.random(500), generator.random(500) < 0.8)
        try:
            threshold_for(validation, risk=0.1999, delta=0.1)
        except ValueError:
            continue
        broken += 1
    assert broken <= 0.1 * 400


def test_without_delta_the_observed_risk_is_kept_and_more_often_broken_on_fresh_rows():
    generator = np.random.default_rng(1)
    fresh, broken = draw(generator, 100_000), 0
    for _ in range(100):
        confidence, hits = draw(generator, 500)
        threshold = threshold_for(Selection.histogram(confidence, hits), risk=0.2, delta=None)
        assert risk_above(threshold, confidence, hits) <= 0.2 + 1e-9
        broken += risk_above(threshold, *fresh) > 0.2
    assert broken > 20


@pytest.mark.parametrize("coverage", [0.0, 0.01, 0.5, 0.9, 1.0])
@pytest.mark.parametrize("ties", [False, True])
def test_at_least_the_coverage_is_answered_and_not_much_more(coverage, ties):
    confidence, hits = draw(np.random.default_rng(0), 1000, ties=ties)
    answered = np.mean(confidence >= threshold_for(Selection.histogram(confidence, hits), coverage=coverage))
    assert coverage <= answered <= coverage + 0.03


def test_a_lower_risk_or_delta_never_lowers_the_threshold():
    validation = Selection.histogram(*draw(np.random.default_rng(0), 5000))
    by_risk = [threshold_for(validation, risk=risk) for risk in (0.1, 0.15, 0.2, 0.3, 1.0)]
    assert by_risk == sorted(by_risk, reverse=True)
    by_delta = [threshold_for(validation, risk=0.15, delta=delta) for delta in (0.001, 0.05, 0.5, None)]
    assert by_delta == sorted(by_delta, reverse=True)


def test_an_impossible_promise_is_refused_with_what_is_possible():
    validation = Selection.histogram(*draw(np.random.default_rng(0), 200))
    least = r"the least that 200 validation rows can promise is (0\.\d+), where (0\.\d+) was observed"
    with pytest.raises(ValueError, match=rf"no threshold promises a risk of 0\.001: {least}") as refused:
        threshold_for(validation, risk=0.001)
    promised, observed = map(float, re.search(least, str(refused.value)).groups())
    kept = threshold_for(validation, risk=promised)
    with pytest.raises(ValueError, match="no threshold promises"):
        threshold_for(validation, risk=promised - 1e-4)
    curve = validation.risk_coverage
    answered = np.flatnonzero(curve.threshold >= kept)[-1]
    assert curve.risk[answered] == pytest.approx(observed, abs=1e-4)


def test_rows_that_are_always_wrong_promise_nothing_but_everything():
    validation = Selection.histogram(np.linspace(0, 1, 50), np.zeros(50, bool))
    assert threshold_for(validation, risk=1.0) <= 0
    with pytest.raises(ValueError, match="the least that 50 validation rows can promise is 1"):
        threshold_for(validation, risk=0.99)


def spread(answered, refused):
    """400 right rows of the one confidence, and 400 of the other, half of them wrong."""
    confidence = np.repeat(np.array([answered, refused], np.float64), 400)
    return confidence, (confidence == answered) | (np.arange(800) % 2 == 0)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("gap", [1, 2, 3, 20, 1000])
@pytest.mark.parametrize("answered", [1.0, 1 - 2**-20, 0.75, 2**-17])
@pytest.mark.parametrize("promise", [{"risk": 0.05}, {"risk": 0.05, "delta": None}, {"coverage": 0.5}], ids=str)
def test_rows_however_little_below_the_answered_ones_are_refused(promise, answered, gap, dtype):
    """At the edge of a cell of the histogram; the threshold is compared in the dtype of the confidence."""
    answered = dtype(answered)
    refused = answered - gap * np.spacing(np.nextafter(answered, dtype(0)))
    confidence, hits = spread(answered, refused)
    threshold = threshold_for(Selection.histogram(confidence, hits), **promise)
    assert (confidence.astype(dtype) >= threshold).tolist() == (confidence == answered).tolist()
    assert refused < threshold <= answered


def test_where_there_is_room_rounding_to_float32_rejects_no_answered_row():
    confidence, hits = draw(np.random.default_rng(0), 300)
    threshold = threshold_for(Selection.histogram(confidence, hits), coverage=0.5)
    answered = confidence >= threshold
    np.testing.assert_array_equal(confidence.astype(np.float32) >= threshold, answered)
    np.testing.assert_array_equal(confidence * (1 - 2e-7) >= threshold, answered)


def test_weights_that_are_no_whole_numbers_keep_no_delta():
    confidence, hits = draw(np.random.default_rng(0), 2000)
    validation = Selection.weighted(confidence, hits, np.where(hits, 1.0, 2.5))
    with pytest.raises(ValueError, match=r"weights that are no whole numbers, so .* delta=None takes the observed"):
        threshold_for(validation, risk=0.3)
    answered = confidence >= threshold_for(validation, risk=0.3, delta=None)
    wrong, right = 2.5 * np.sum(answered & ~hits), np.sum(answered & hits)
    assert wrong / (wrong + right) <= 0.3
    assert np.mean(confidence >= threshold_for(validation, coverage=0.5)) > 0.53, "the less confident rows count more"
