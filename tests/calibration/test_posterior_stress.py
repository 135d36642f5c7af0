"""The posterior calibrator is never much worse than a temperature: at most .01 in mean log-loss, at most .05 in 95 % of
draws, however few the rows and however odd the log-odds."""

import warnings

import numpy as np
import pytest

from slova.calibration import TemperatureScaling
from slova.calibration.posterior import PosteriorCalibration, log_odds_from_log_probs
from slova.heads import log_softmax


def world(classes, rows, *, seed, sharpness=2.0, gap=None, tilt=0.0, only=None, without=None, rare=0.0):
    """Validation and test logits of a softmax model, too sharp and tilted to some classes."""
    generator = np.random.default_rng(seed)
    gap = 1.5 + 0.5 * np.log(classes) if gap is None else gap
    shares = np.arange(1, classes + 1) ** -rare
    bias = tilt * generator.normal(size=classes)

    def draw(count, allowed):
        labels = generator.choice(classes, count, p=allowed / allowed.sum())
        logits = generator.normal(size=(count, classes)) + bias
        logits[np.arange(count), labels] += gap
        return sharpness * logits, labels

    allowed = shares * (np.arange(classes) != without) * (1 if only is None else np.arange(classes) == only)
    return *draw(rows, allowed), *draw(min(2000, 400_000 // classes), shares)


CASES = {
    "10 rows": (16, {"classes": 10, "rows": 10}),
    "30 rows": (16, {"classes": 10, "rows": 30}),
    "100 rows": (16, {"classes": 10, "rows": 100}),
    "300 rows of 26 classes": (10, {"classes": 26, "rows": 300}),
    "2 classes, 15 rows": (16, {"classes": 2, "rows": 15, "gap": 1.0}),
    "2 classes, 60 rows": (16, {"classes": 2, "rows": 60, "gap": 1.0}),
    "2 classes, 2000 rows": (10, {"classes": 2, "rows": 2000, "gap": 1.0}),
    "150 classes, 200 rows": (3, {"classes": 150, "rows": 200}),
    "150 classes, 1000 rows": (2, {"classes": 150, "rows": 1000}),
    "1000 classes, 200 rows": (2, {"classes": 1000, "rows": 200}),
    "1000 classes, 1000 rows": (1, {"classes": 1000, "rows": 1000}),
    "saturated": (10, {"classes": 10, "rows": 500, "sharpness": 100.0}),
    "saturated, 60 rows": (16, {"classes": 10, "rows": 60, "sharpness": 100.0}),
    "a class is missing": (10, {"classes": 10, "rows": 800, "without": 0}),
    "a common class is missing": (10, {"classes": 4, "rows": 400, "without": 0, "rare": 1.0}),
    "one class only": (10, {"classes": 10, "rows": 200, "only": 3}),
    "rare classes": (10, {"classes": 20, "rows": 300, "rare": 1.5}),
    "well calibrated": (10, {"classes": 10, "rows": 300, "sharpness": 1.0, "gap": 3.0}),
}


LOG_ODDS = {
    "softmax": lambda logits: log_odds_from_log_probs(log_softmax(logits)),
    "one-vs-all": lambda logits: logits - 3.0,
}


def nll(log_probs, labels):
    return float(-log_probs[np.arange(len(labels)), labels].mean())


def excess(kind, seed, **case):
    """Log-loss on test rows beyond that of a temperature fitted to the same rows."""
    logits, labels, test, truth = world(seed=seed, **case)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a temperature may have no best value
        temperature = TemperatureScaling.fit(log_softmax(logits), labels)
    fitted = PosteriorCalibration.fit(LOG_ODDS[kind](logits), labels)
    return nll(fitted(LOG_ODDS[kind](test)), truth) - nll(temperature(log_softmax(test)), truth)


PAIRS = [  # every case with both kinds and both tilts, and over the cases every kind with every tilt
    (name, kind, 0.5 if (i + j) % 2 else 0.0) for i, name in enumerate(CASES) for j, kind in enumerate(LOG_ODDS)
]


@pytest.mark.parametrize(("name", "kind", "tilt"), PAIRS)
def test_log_loss_is_never_much_worse_than_that_of_a_temperature(name, kind, tilt):
    draws, case = CASES[name]
    found = [excess(kind, seed, tilt=tilt, **case) for seed in range(draws)]
    assert np.mean(found) <= 0.01
    assert np.quantile(found, 0.95) <= 0.05


def test_forests_that_are_certain_and_wrong_are_survived():
    """Probabilities of exactly 0 and 1: the log-loss stays finite and near that of a smoothed answer."""
    generator = np.random.default_rng(0)
    labels = generator.integers(0, 4, 2000)
    votes = generator.binomial(3, 0.05, (2000, 4)) + 0.0
    votes[np.arange(2000), np.where(generator.random(2000) < 0.9, labels, (labels + 1) % 4)] += 4
    with np.errstate(divide="ignore"):
        log_odds = log_odds_from_log_probs(np.log(votes / votes.sum(axis=1, keepdims=True)))
    fitted = PosteriorCalibration.fit(log_odds[:1000], labels[:1000])
    assert nll(fitted(log_odds[1000:]), labels[1000:]) < 0.6


def test_the_class_shares_of_a_sample_are_not_taken_for_those_of_all_rows():
    """With eight rows per class these shares are mostly noise. Stratified folds have the same shares, and numbers per
    class would be taken."""
    parts = []
    for seed in range(6):
        logits, labels, *_ = world(40, 300, seed=seed, sharpness=1.5, gap=2.0)
        parts.append(PosteriorCalibration.fit(LOG_ODDS["softmax"](logits), labels).part)
    assert set(parts) <= {"temperature", "shared"}
