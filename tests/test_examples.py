"""What the examples print is what they claim: guarantees hold, and low confidence chooses better than chance."""

import runpy
from pathlib import Path

import numpy as np
import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"


@pytest.fixture(scope="module")
def selective():
    return runpy.run_path(str(EXAMPLES / "selective_prediction.py"))


@pytest.mark.parametrize("method", ["softmax", "SLOVA"])
def test_a_guaranteed_risk_is_exceeded_in_at_most_delta_of_the_draws_and_an_observed_one_more_often(selective, method):
    probs = selective["confidences"][method]
    confidence, hits = probs.max(axis=1), probs.argmax(axis=1) == selective["labels"]
    exceeded = {
        delta: np.mean([risk > 0.02 for risk, _ in selective["draws"](confidence, hits, delta)])
        for delta in (0.05, None)
    }
    assert exceeded[0.05] <= 0.05
    assert exceeded[None] > 0.1


def test_the_least_confident_digits_are_worth_more_than_random_ones():
    tables = runpy.run_path(str(EXAMPLES / "active_learning.py"))["tables"]
    gain = tables["1 - confidence"][:, -1] - tables["random"][:, -1]
    assert gain.mean() > 0.015
    assert (gain > 0).sum() >= 4


def test_augmented_digits_are_recognised_degraded_and_outliers_are_not():
    (_, degraded, seen), (_, degraded_with, seen_with) = runpy.run_path(str(EXAMPLES / "images_augment.py"))["table"]
    assert degraded_with > degraded
    assert seen_with > seen


def test_a_new_last_layer_has_evidence_of_noise_that_two_numbers_do_not_give():
    softmax, rescaled, renewed, own = np.mean(runpy.run_path(str(EXAMPLES / "retrofit.py"))["table"], axis=0)
    assert max(softmax[0], rescaled[0], renewed[0], own[0]) < 0.06  # ECE
    assert renewed[1] > max(softmax[1], rescaled[1]) + 0.05  # AUROC of noise


def test_the_mean_confidence_in_sets_comes_nearer_to_their_accuracy_and_the_guarantee_holds():
    names = runpy.run_path(str(EXAMPLES / "multilabel.py"))
    logits, targets = names["logits"][names["test"]], names["targets"][names["test"]].numpy() > 0
    raw, fitted = names["SetScorer"]().predict(logits), names["fitted"].predict(logits)
    right = names["subset_accuracy"](raw.sets, targets)
    assert abs(fitted.confidence.mean() - right) < abs(raw.confidence.mean() - right)
    answered = fitted.confidence >= names["fitted"].threshold(risk=0.1)
    assert names["subset_accuracy"](fitted.sets[answered], targets[answered.numpy()]) >= 0.9
