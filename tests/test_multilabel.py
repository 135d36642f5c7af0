"""Sets of labels: the likeliest one, how sure one may be of it, and the metrics, against their definitions."""

from functools import partial

import numpy as np
import pytest
import torch
from sklearn.metrics import accuracy_score, hamming_loss

import slova
from slova.calibration import BetaCalibration, ExponentialCalibration, TemperatureScaling
from slova.metrics import Ece
from slova.multilabel import LabelCalibration, SetScorer, hamming, set_ece, set_nll, subset_accuracy

GENERATOR = np.random.default_rng(0)


def independent(rows, labels=4, spread=2.0, seed=0):
    """Logits that are calibrated per label, and targets drawn from them."""
    generator = np.random.default_rng(seed)
    logits = generator.normal(0, spread, (rows, labels))
    return logits, (generator.random(logits.shape) < 1 / (1 + np.exp(-logits))).astype(int)


def dependent(rows, seed=0):
    """Two labels with the same logit that always come together, and a third by itself: the product is too small."""
    logits, targets = independent(rows, 3, seed=seed)
    logits[:, 1], targets[:, 1] = logits[:, 0], targets[:, 0]
    return logits, targets


# The set and its probability.


def test_the_set_is_the_likeliest_of_all_sets_and_its_confidence_that_of_remark_3_1():
    logits, _ = independent(50)
    probs = 1 / (1 + np.exp(-logits))
    every = ((np.arange(16)[:, None] >> np.arange(4)) & 1).astype(bool)
    chances = np.where(every, probs[:, None], 1 - probs[:, None]).prod(axis=-1)
    answers = SetScorer().predict(logits)
    assert (answers.sets == every[chances.argmax(axis=1)]).all()
    np.testing.assert_allclose(answers.confidence, chances.max(axis=1), rtol=1e-12)
    np.testing.assert_allclose(answers.probs, probs, rtol=1e-12)


def test_independent_and_honest_labels_need_no_calibration():
    logits, targets = independent(20_000)
    answers, fitted = SetScorer().predict(logits), SetScorer.fit(logits, targets)
    assert set_ece(answers.confidence, answers.sets, targets) < 0.015
    np.testing.assert_allclose(fitted.predict(logits).confidence, answers.confidence, atol=0.03)


def test_calibration_repairs_the_confidence_in_labels_that_come_together_and_leaves_their_sets():
    raw, fitted = SetScorer(), SetScorer.fit(*dependent(5000))
    logits, targets = dependent(5000, seed=1)
    before, after = raw.predict(logits), fitted.predict(logits)
    assert (before.sets == after.sets).all()
    errors = [set_ece(answers.confidence, answers.sets, targets) for answers in (before, after)]
    assert errors[0] > 0.1
    assert errors[1] < 0.4 * errors[0]


@pytest.mark.parametrize("calibrate", [BetaCalibration.fit, partial(ExponentialCalibration.fit, at_most_one=True)])
def test_any_map_of_one_probability_calibrates_the_set(calibrate):
    fitted = SetScorer.fit(*dependent(5000), calibration=calibrate)
    logits, targets = dependent(5000, seed=1)
    answers = fitted.predict(logits)
    assert set_ece(answers.confidence, answers.sets, targets) < 0.05


def test_without_a_map_the_probability_of_the_set_stays_and_the_threshold_is_known(tmp_path):
    logits, targets = dependent(500)
    fitted = SetScorer.fit(logits, targets, calibration=None)
    assert fitted.calibrator is None
    np.testing.assert_array_equal(fitted.predict(logits).confidence, SetScorer().predict(logits).confidence)
    fitted.save(tmp_path / "sets.slova")
    assert SetScorer.load(tmp_path / "sets.slova").threshold(coverage=0.5) == fitted.threshold(coverage=0.5)


def test_torch_logits_give_the_same_answers_as_tensors():
    logits, targets = dependent(2000)
    fitted = SetScorer.fit(torch.tensor(logits), torch.tensor(targets), by_label=True)
    for ours, theirs in zip(fitted.predict(logits), fitted.predict(torch.tensor(logits)), strict=True):
        assert isinstance(theirs, torch.Tensor)
        np.testing.assert_allclose(ours, theirs.numpy(), rtol=1e-9)


def test_the_threshold_keeps_its_guarantee_on_new_rows():
    fitted = SetScorer.fit(*independent(5000, spread=5.0))
    logits, targets = independent(20_000, spread=5.0, seed=1)
    answers = fitted.predict(logits)
    answered = answers.confidence >= fitted.threshold(risk=0.2)
    assert answered.mean() > 0.1
    assert subset_accuracy(answers.sets[answered], targets[answered]) > 0.8
    with pytest.raises(ValueError, match="threshold requires a scorer"):
        SetScorer().threshold(risk=0.2)


def test_a_fitted_scorer_knows_its_labels_and_one_that_was_not_takes_any(tmp_path):
    fitted = SetScorer.fit(*dependent(500))
    fitted.save(tmp_path / "sets.slova")
    for scorer in (fitted, SetScorer.load(tmp_path / "sets.slova")):
        assert scorer.labels == 3
        with pytest.raises(ValueError, match=r"logits \(5, 2\) do not have the 3 labels of this scorer"):
            scorer.predict(np.zeros((5, 2)))
    assert SetScorer().predict(np.zeros((5, 2))).sets.shape == (5, 2)


def test_a_map_of_whole_rows_is_refused_because_a_set_has_one_probability():
    for call in (
        lambda: SetScorer.fit(*dependent(500), calibration=lambda *_, **__: TemperatureScaling(2.0)),
        lambda: SetScorer(calibrator=TemperatureScaling(2.0)),
    ):
        with pytest.raises(ValueError, match="TemperatureScaling calibrates whole rows"):
            call()


# Label by label.


def test_a_known_scale_and_offset_of_each_label_are_found_again():
    logits, targets = independent(20_000)
    scale, offset = np.array([0.5, 1.0, 2.0, 3.0]), np.array([1.0, 0.0, -1.0, 2.0])
    found = LabelCalibration.fit((logits - offset) / scale, targets)
    np.testing.assert_allclose(found.scale, scale, rtol=0.1)
    np.testing.assert_allclose(found.offset, offset, atol=0.1)
    np.testing.assert_allclose(found((logits - offset) / scale), found.scale / scale * (logits - offset) + found.offset)


def test_a_label_nobody_has_takes_the_map_of_all():
    logits, targets = independent(4000)
    targets[:, 3] = 0
    found = LabelCalibration.fit(logits, targets)
    common = slova.AffineCalibration.fit(logits.reshape(-1, 1), np.where(targets.ravel() == 1, 0, slova.NONE))
    assert (found.scale[3], found.offset[3]) == (common.scale, common.offset)
    assert found.scale[0] != common.scale


def test_calibrating_each_label_lowers_the_loss_of_distorted_ones():
    logits, targets = independent(4000)
    distorted = logits * [3, 1, 1, 0.3] + [0, 2, 0, 0]
    fitted = SetScorer.fit(distorted, targets, by_label=True)
    assert set_nll(fitted.logits(distorted), targets) < set_nll(distorted, targets) - 0.3
    assert set_nll(fitted.logits(distorted), targets) == pytest.approx(set_nll(logits, targets), abs=0.01)
    np.testing.assert_allclose(fitted.predict(distorted).probs, 1 / (1 + np.exp(-logits)), atol=0.05)


# The metrics.


def test_subset_accuracy_and_hamming_are_scikit_learns():
    sets, targets = GENERATOR.integers(0, 2, (2, 300, 3))
    assert subset_accuracy(sets, targets) == accuracy_score(targets, sets)
    assert hamming(sets == 1, targets) == pytest.approx(hamming_loss(targets, sets))


def test_the_ece_of_sets_is_that_of_one_class_that_is_right_or_none():
    sets, targets = GENERATOR.integers(0, 2, (2, 300, 2))
    confidence = GENERATOR.random(300)
    right = np.where((sets == targets).all(axis=1), 0, slova.NONE)
    assert set_ece(confidence, sets, targets) == pytest.approx(Ece.of(confidence[:, None], right).value)


def test_the_nll_of_sets_is_the_training_loss():
    logits, targets = independent(200)
    loss = slova.multilabel_loss(torch.tensor(logits), torch.tensor(targets))
    assert set_nll(logits, targets) == pytest.approx(loss.item(), rel=1e-12)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: SetScorer.fit(np.zeros((3, 2)), np.zeros((3, 4))), r"targets \(3, 4\) do not match logits \(3, 2\)"),
        (lambda: set_nll(np.zeros((3, 2)), np.full((3, 2), 2)), "targets must be zeros and ones, got values from 2"),
        (lambda: hamming(np.zeros((3, 2)), np.zeros((2, 2))), r"sets \(3, 2\) do not match targets \(2, 2\)"),
        (lambda: subset_accuracy(np.zeros(3), np.zeros(3)), r"sets must have shape \(N, K\)"),
        (lambda: set_ece(np.zeros(2), np.zeros((3, 2)), np.zeros((3, 2))), r"confidence \(2,\) does not match sets"),
        (lambda: LabelCalibration([1.0, 0.0], [0.0, 0.0]), "scale must be positive and offset finite"),
        (lambda: LabelCalibration([np.inf], [0.0]), "scale must be positive and offset finite"),
        (lambda: LabelCalibration([1.0], [0.0])(np.zeros((3, 2))), "do not have the 1 calibrated labels"),
    ],
)
def test_what_does_not_fit_is_an_error_that_says_so(call, message):
    with pytest.raises(ValueError, match=message):
        call()


# To a file and back.


@pytest.mark.parametrize("options", [{}, {"by_label": True}, {"calibration": BetaCalibration.fit}], ids=str)
def test_a_scorer_comes_back_from_its_file(options, tmp_path):
    scorer = SetScorer.fit(*dependent(2000), **options)
    scorer.save(tmp_path / "sets.slova")
    loaded, (logits, _) = SetScorer.load(tmp_path / "sets.slova"), dependent(50, seed=1)
    for found, wanted in zip(loaded.predict(logits), scorer.predict(logits), strict=True):
        np.testing.assert_array_equal(found, wanted)
    assert loaded.threshold(coverage=0.5) == scorer.threshold(coverage=0.5)


def test_one_that_was_not_fitted_comes_back_too_and_other_files_are_refused(tmp_path):
    SetScorer().save(tmp_path / "sets.slova")
    assert SetScorer.load(tmp_path / "sets.slova") == SetScorer()
    slova.Scorer(classes=3).save(tmp_path / "scorer.slova")
    with pytest.raises(slova.artifact.ArtifactError, match="holds a scorer, expected a set scorer"):
        SetScorer.load(tmp_path / "scorer.slova")
    with pytest.raises(slova.artifact.ArtifactError, match="holds a set scorer"):
        slova.Scorer.load(tmp_path / "sets.slova")
