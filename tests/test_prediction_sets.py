"""Prediction sets cover the true outcome as often as guaranteed, on average over draws of the rows."""

import numpy as np
import pytest
import torch

from slova.heads import NONE
from slova.prediction_sets import PredictionSets

SHARES = np.array([0.6, 0.25, 0.1, 0.05])  # of three classes and NONE
DRAWS = 1000


def draw(generator, rows, *, skill=1.5, wrong=False):
    """Probabilities of four outcomes and labels. Where they are wrong, they overrate the first class."""
    outcomes = generator.choice(4, rows, p=SHARES)
    evidence = generator.normal(size=(rows, 4)) + skill * np.eye(4)[outcomes]
    logits = skill * evidence + np.log(SHARES) + (wrong * np.array([3.0, 0, 0, 0]))
    probs = np.exp(logits - logits.max(axis=1, keepdims=True))
    return probs / probs.sum(axis=1, keepdims=True), np.where(outcomes == 3, NONE, outcomes)


def covered(sets, probs, labels):
    return sets(probs)[np.arange(len(labels)), labels]  # NONE = -1 is the last column


@pytest.mark.parametrize("wrong", [False, True])
@pytest.mark.parametrize(("coverage", "rows"), [(0.9, 30), (0.95, 200), (0.8, 7)])
def test_the_marginal_coverage_holds_whatever_the_probabilities_and_is_not_much_exceeded(coverage, rows, wrong):
    generator = np.random.default_rng(0)
    hits = []
    for _ in range(DRAWS):
        sets = PredictionSets.fit(*draw(generator, rows, wrong=wrong), coverage=coverage)
        hits.append(covered(sets, *draw(generator, 50, wrong=wrong)).mean())
    error = 2 * np.std(hits) / np.sqrt(DRAWS)
    assert coverage - error <= np.mean(hits) <= coverage + 1 / (rows + 1) + 0.05


def test_the_class_conditional_coverage_holds_for_each_outcome():
    generator = np.random.default_rng(0)
    marginal, conditional = [], []
    for _ in range(300):
        rows, fresh = draw(generator, 1000, wrong=True), draw(generator, 1000, wrong=True)
        for per_class, found in ((False, marginal), (True, conditional)):
            hits = covered(PredictionSets.fit(*rows, coverage=0.9, per_class=per_class), *fresh)
            found.append([hits[fresh[1] == label].mean() for label in (0, 1, 2, NONE)])
    error = 2 * np.std(conditional, axis=0) / np.sqrt(300)
    assert np.all(np.mean(conditional, axis=0) >= 0.9 - error)
    assert np.min(np.mean(marginal, axis=0)) < 0.75, "one threshold neglects the outcomes that are underrated"


def test_an_outcome_of_too_few_rows_takes_the_threshold_of_all_rows():
    probs, labels = draw(np.random.default_rng(0), 500)
    keep = (labels != NONE) & ((labels != 2) | (np.cumsum(labels == 2) <= 18))
    sets = PredictionSets.fit(probs[keep], labels[keep], per_class=True)
    all_rows = PredictionSets.fit(probs[keep], labels[keep])
    assert sets.conditional.tolist() == [True, True, False, False]
    assert not all_rows.conditional.any()
    assert (sets.thresholds[2:] == all_rows.thresholds[2:]).all()
    assert (sets.thresholds[:2] != all_rows.thresholds[:2]).all()


def test_with_too_few_rows_every_outcome_is_a_member():
    probs, labels = draw(np.random.default_rng(0), 18)
    assert PredictionSets.fit(probs, labels, coverage=0.95)(probs).all()
    probs, labels = draw(np.random.default_rng(0), 19)
    assert not PredictionSets.fit(probs, labels, coverage=0.95)(probs).all()


def test_a_better_model_gives_smaller_sets_and_more_coverage_larger_ones():
    sizes = {}
    for skill in (0.5, 2.0):
        probs, labels = draw(np.random.default_rng(0), 2000, skill=skill)
        for coverage in (0.8, 0.95):
            sizes[skill, coverage] = PredictionSets.fit(probs, labels, coverage=coverage)(probs).sum(axis=1).mean()
    assert sizes[2.0, 0.95] < sizes[0.5, 0.95]
    assert sizes[2.0, 0.8] < sizes[2.0, 0.95]


def test_no_set_is_empty():
    sets = PredictionSets([0.9, 0.9, 0.9], 0.5, [False] * 3)
    assert sets(np.array([[0.3, 0.5, 0.2], [0.4, 0.4, 0.2]])).tolist() == [[False, True, False], [True, True, False]]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_torch_gives_the_same_sets(dtype):
    probs, labels = draw(np.random.default_rng(0), 300)
    tensor = torch.as_tensor(probs, dtype=dtype)
    sets = PredictionSets.fit(tensor, torch.as_tensor(labels), per_class=True)
    assert sets(tensor).dtype == torch.bool
    np.testing.assert_array_equal(sets(tensor).numpy(), sets(tensor.numpy()))
    assert sets(tensor.reshape(3, 100, 4)).shape == (3, 100, 4)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda probs, labels: PredictionSets.fit(probs, labels, coverage=1.0), "coverage must lie in"),
        (lambda probs, labels: PredictionSets.fit(probs[:, :1], labels), "NONE last, got"),
        (lambda probs, labels: PredictionSets.fit(probs, labels + 1), "labels must lie in"),
        (lambda probs, labels: PredictionSets.fit(probs, labels[1:]), "labels"),
        (lambda probs, labels: PredictionSets.fit(2 * probs, labels), "probs must lie in"),
        (lambda probs, labels: PredictionSets.fit(probs, labels)(probs[:, 1:]), "NONE last, got"),
        (lambda probs, labels: PredictionSets([0.5, np.nan], 0.9, [True, True]), "must be probabilities"),
        (lambda probs, labels: PredictionSets([0.5, 0.5], 0.9, [True]), "one per outcome"),
    ],
)
def test_what_does_not_fit_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call(*draw(np.random.default_rng(0), 100))
