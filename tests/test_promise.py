"""The threshold keeps what it promises: on fresh rows, in all but a delta of the draws."""

import numpy as np
import pytest

from slova.metrics import Selection
from slova.promise import threshold_for


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
    least = r"the least that 200 validation rows can promise is 0\.\d+, where 0\.?\d* was observed"
    with pytest.raises(ValueError, match=rf"no threshold promises a risk of 0\.001: {least}"):
        threshold_for(validation, risk=0.001)


def test_rows_that_are_always_wrong_promise_nothing_but_everything():
    validation = Selection.histogram(np.linspace(0, 1, 50), np.zeros(50, bool))
    assert threshold_for(validation, risk=1.0) <= 0
    with pytest.raises(ValueError, match="the least that 50 validation rows can promise is 1"):
        threshold_for(validation, risk=0.99)
