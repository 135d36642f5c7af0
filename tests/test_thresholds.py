"""The guarantees hold on fresh rows, in all but a share delta of the draws."""

import re

import numpy as np
import pytest
from scipy.stats import beta

from slova.metrics import Selection
from slova.thresholds import selection_of, threshold_for

DRAWS = 1000
OBSERVED = {"coverage": 0.5, "delta": None}
POPULATIONS = {  # confidence of a uniform number, and the share of errors at a confidence
    "calibrated": (lambda u: 1 - u**3 / 2, lambda c: 1 - c),
    "ties": (lambda u: (1 - u**3 / 2).round(2), lambda c: 1 - c),
    "overconfident": (lambda u: u ** (1 / 20), lambda c: 0.4 - 0.38 * c**10),
    "risk crosses thrice": (
        lambda u: u,
        lambda c: np.where(c > 0.97, 0.4, np.where(c > 0.4, 0.02, 0.3)),
    ),
}


class Population:
    """Draws of (confidence, hits), and the true risk and coverage of a threshold."""

    def __init__(self, name):
        self.confidence, self.errors = POPULATIONS[name]
        self.sorted = np.sort(self.confidence((np.arange(200_000) + 0.5) / 200_000))[::-1]
        self.risks = np.cumsum(self.errors(self.sorted)) / np.arange(1, 200_001)

    def draw(self, generator, rows):
        confidence = self.confidence(generator.random(rows))
        return confidence, generator.random(rows) >= self.errors(confidence)

    def of(self, threshold):
        answered = np.searchsorted(-self.sorted, -threshold, side="right")
        return self.risks[max(answered, 1) - 1], answered / len(self.sorted)


def draw(generator, rows, *, ties=False):
    """Confidences that know something of the hits, and no more than that."""
    confidence = generator.random(rows)
    confidence = confidence.round(2) if ties else confidence
    return confidence, generator.random(rows) < 0.5 + 0.5 * confidence


def attempt(rows, **options):
    """The threshold, or one that answers nothing."""
    try:
        return threshold_for(selection_of(*rows), **options)
    except ValueError:
        return 2.0


def union_bound(confidence, hits, risk, delta):
    """The same guarantee by Clopper-Pearson bounds at 50 coverages, delta shared among them."""
    order = np.argsort(-confidence)
    answered = np.unique(np.ceil(np.arange(1, 51) / 50 * len(hits)).astype(int))
    errors = np.cumsum(~hits[order])[answered - 1]
    kept = answered[beta.ppf(1 - delta / 50, errors + 1, np.maximum(answered - errors, 1e-9)) <= risk]
    return confidence[order][kept[-1] - 1] if kept.size else 2.0


@pytest.mark.parametrize("name", POPULATIONS)
def test_the_true_risk_exceeds_the_bound_in_at_most_delta_of_the_draws_and_more_is_answered_than_by_a_union_bound(name):
    population, generator, risk, delta = Population(name), np.random.default_rng(0), 0.1, 0.1
    broken, gained = 0, []
    for number in range(DRAWS):
        rows = population.draw(generator, 400)
        found, coverage = population.of(attempt(rows, risk=risk, delta=delta))
        broken += coverage > 0 and found > risk
        if number % 10 == 0:
            gained.append(coverage - population.of(union_bound(*rows, risk, delta))[1])
    assert broken <= delta * DRAWS + 2 * np.sqrt(DRAWS * delta * (1 - delta))
    assert np.mean(gained) > 0.02


def test_coverage_comes_close_to_that_of_the_true_risk_with_more_rows():
    population, generator = Population("calibrated"), np.random.default_rng(0)
    best = np.flatnonzero(population.risks <= 0.1)[-1] / len(population.sorted)
    found = [population.of(attempt(population.draw(generator, rows), risk=0.1))[1] for rows in (1000, 100_000)]
    assert best - 0.2 < found[0] < best - 0.02 < found[1] <= best


def test_a_confidence_that_knows_nothing_is_trusted_in_at_most_delta_of_the_draws():
    """Every threshold has the true risk 0.2, so any that guarantees less is wrong."""
    generator = np.random.default_rng(0)
    found = [
        attempt((generator.random(500), generator.random(500) < 0.8), risk=0.1999, delta=0.1) for _ in range(DRAWS)
    ]
    assert np.sum(np.array(found) < 2) <= 0.1 * DRAWS + 2 * np.sqrt(DRAWS * 0.09)


def test_without_delta_the_observed_risk_is_kept_and_more_often_broken_on_fresh_rows():
    generator = np.random.default_rng(1)
    (fresh, fresh_hits), broken = draw(generator, 100_000), 0
    for _ in range(100):
        confidence, hits = draw(generator, 500)
        threshold = threshold_for(selection_of(confidence, hits), risk=0.2, delta=None)
        assert np.mean(~hits[confidence >= threshold]) <= 0.2 + 1e-9
        broken += np.mean(~fresh_hits[fresh >= threshold]) > 0.2
    assert broken > 20


@pytest.mark.parametrize("coverage", [0.0, 0.01, 0.5, 0.9, 1.0])
@pytest.mark.parametrize("ties", [False, True])
def test_without_delta_the_coverage_is_that_of_the_validation_rows(coverage, ties):
    confidence, hits = draw(np.random.default_rng(0), 1000, ties=ties)
    answered = np.mean(confidence >= threshold_for(selection_of(confidence, hits), coverage=coverage, delta=None))
    assert coverage <= answered <= coverage + 0.03


@pytest.mark.parametrize("name", ["calibrated", "ties"])
@pytest.mark.parametrize(("coverage", "delta"), [(0.5, 0.1), (0.9, 0.05), (0.99, 0.2)])
def test_the_true_coverage_is_too_small_in_at_most_delta_of_the_draws(name, coverage, delta):
    population, generator = Population(name), np.random.default_rng(0)
    found = np.array(
        [
            population.of(
                threshold_for(selection_of(*population.draw(generator, 300)), coverage=coverage, delta=delta)
            )[1]
            for _ in range(DRAWS)
        ]
    )
    assert np.mean(found < coverage - 1e-5) <= delta + 2 * np.sqrt(delta * (1 - delta) / DRAWS)
    assert np.median(found) < coverage + 0.08 or name == "ties"


def test_a_coverage_that_the_rows_cannot_guarantee_answers_every_input():
    rows = draw(np.random.default_rng(0), 20)
    assert threshold_for(selection_of(*rows), coverage=0.9) == 0
    assert threshold_for(selection_of(*rows), coverage=0.8) > 0
    assert threshold_for(selection_of(*rows), coverage=1.0) == 0


def test_a_lower_risk_or_delta_never_lowers_the_threshold():
    validation = Selection.histogram(*draw(np.random.default_rng(0), 5000))
    by_risk = [threshold_for(validation, risk=risk) for risk in (0.1, 0.15, 0.2, 0.3, 1.0)]
    assert by_risk == sorted(by_risk, reverse=True)
    by_delta = [threshold_for(validation, risk=0.15, delta=delta) for delta in (0.001, 0.05, 0.5, None)]
    assert by_delta == sorted(by_delta, reverse=True)


def test_an_impossible_risk_is_refused_with_what_is_possible():
    validation = selection_of(*draw(np.random.default_rng(0), 200))
    least = r"the least possible with 200 validation rows is (0\.\d+), where (0\.\d+) was observed"
    with pytest.raises(ValueError, match=rf"no threshold guarantees a risk of 0\.001: {least}") as refused:
        threshold_for(validation, risk=0.001)
    possible, observed = map(float, re.search(least, str(refused.value)).groups())
    threshold = threshold_for(validation, risk=possible)
    with pytest.raises(ValueError, match="no threshold guarantees"):
        threshold_for(validation, risk=possible - 1e-4)
    curve = validation.risk_coverage
    assert curve.risk[np.flatnonzero(curve.threshold >= threshold)[-1]] == pytest.approx(observed, abs=1e-4)


def test_rows_that_are_always_wrong_have_a_risk_of_one():
    validation = Selection.histogram(np.linspace(0, 1, 50), np.zeros(50, bool))
    assert threshold_for(validation, risk=1.0) <= 0
    with pytest.raises(ValueError, match="the least possible with 50 validation rows is 1"):
        threshold_for(validation, risk=0.99)


def spread(answered, refused):
    """400 right rows of the one confidence, and 400 of the other, half of them wrong."""
    confidence = np.repeat(np.array([answered, refused], np.float64), 400)
    return confidence, (confidence == answered) | (np.arange(800) % 2 == 0)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("gap", [1, 2, 3, 20, 1000])
@pytest.mark.parametrize("answered", [1.0, 1 - 2**-20, 0.75, 2**-17])
@pytest.mark.parametrize(
    "target", [{"risk": 0.05}, {"risk": 0.05, "delta": None}, {"coverage": 0.5, "delta": None}], ids=str
)
def test_rows_however_little_below_the_answered_ones_are_rejected(target, answered, gap, dtype):
    """At the edge of a cell of the histogram; the threshold is compared in the dtype of the confidence."""
    answered = dtype(answered)
    refused = answered - gap * np.spacing(np.nextafter(answered, dtype(0)))
    confidence, hits = spread(answered, refused)
    threshold = threshold_for(Selection.histogram(confidence, hits), **target)
    assert (confidence.astype(dtype) >= threshold).tolist() == (confidence == answered).tolist()
    assert refused < threshold <= answered


def test_where_there_is_room_rounding_to_float32_rejects_no_answered_row():
    confidence, hits = draw(np.random.default_rng(0), 300)
    threshold = threshold_for(Selection.histogram(confidence, hits), coverage=0.5)
    answered = confidence >= threshold
    np.testing.assert_array_equal(confidence.astype(np.float32) >= threshold, answered)
    np.testing.assert_array_equal(confidence * (1 - 2e-7) >= threshold, answered)


def test_weights_that_are_not_whole_numbers_have_no_guarantee():
    confidence, hits = draw(np.random.default_rng(0), 2000)
    validation = Selection.weighted(confidence, hits, np.where(hits, 1.0, 2.5))
    for target in ({"risk": 0.3}, {"coverage": 0.5}):
        with pytest.raises(ValueError, match=r"weights that are not whole numbers, .* pass delta=None"):
            threshold_for(validation, **target)
    answered = confidence >= threshold_for(validation, risk=0.3, delta=None)
    wrong, right = 2.5 * np.sum(answered & ~hits), np.sum(answered & hits)
    assert wrong / (wrong + right) <= 0.3
    assert np.mean(confidence >= threshold_for(validation, coverage=0.5, delta=None)) > 0.53, (
        "the less confident rows count more"
    )


def test_hits_must_match_the_confidences():
    for hits in (np.ones(3, bool), np.ones(4), np.array(True)):
        with pytest.raises(ValueError, match="as many booleans"):
            selection_of(np.full(4, 0.5), hits)
    with pytest.raises(ValueError, match="as many booleans"):
        selection_of(np.empty(0), np.empty(0, bool))
