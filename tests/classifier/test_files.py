"""Files and state dicts of classifiers."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

from slova import NONE, BetaCalibration, Classifier, Scorer, artifact
from slova.artifact import ArtifactError


def test_a_file_keeps_what_the_network_takes(network, tmp_path, blobs, mlp, two_inputs):
    points, labels = blobs(300, 1)
    words = torch.randint(0, 2, (300, 2))
    sources = [(points, words, labels), {"points": points, "mask": words, "labels": labels}]
    for source in sources:
        fitted = Classifier.fit(two_inputs(network), source)
        fitted.save(tmp_path / "model.slova")
        again = Classifier.load(tmp_path / "model.slova", two_inputs(mlp())).example
        found, wanted = ([(None, part) for part in example[0]] + list(example[1].items())
                         for example in (again, fitted.example))  # fmt: skip
        assert [(name, part.shape, part.dtype) for name, part in found] == [
            (name, part.shape, part.dtype) for name, part in wanted
        ]


def test_a_file_of_before_or_of_a_classifier_that_was_not_fitted_has_no_example(classifier, tmp_path, mlp):
    classifier.save(tmp_path / "model.slova")
    tensors, meta = artifact.load(tmp_path / "model.slova", "classifier", framework="torch")
    del meta["example"]
    artifact.save(tmp_path / "old.slova", "classifier", tensors, meta)
    Classifier(mlp(), Scorer(classes=4)).save(tmp_path / "bare.slova")
    for name in ("old.slova", "bare.slova"):
        assert Classifier.load(tmp_path / name, mlp()).example is None
    artifact.save(tmp_path / "odd.slova", "classifier", tensors, meta | {"example": [[None, "nn", [0]]]})
    with pytest.raises(ArtifactError, match="the inputs of its network are unreadable"):
        Classifier.load(tmp_path / "odd.slova", mlp())


def test_the_reject_threshold_is_part_of_the_classifier_and_its_file(network, tmp_path, blobs, mlp):
    classifier = Classifier.fit(network, blobs(2000, 1))
    classifier.reject = classifier.threshold(coverage=0.6)
    points, labels = blobs(5000, 8)
    assert (classifier.predict(points).label != NONE).float().mean() == pytest.approx(0.6, abs=0.05)
    classifier.reject = classifier.threshold(risk=0.05)
    label = classifier.predict(points).label
    assert (label != labels)[label != NONE].float().mean() <= 0.05
    classifier.save(tmp_path / "model.slova")
    assert torch.equal(Classifier.load(tmp_path / "model.slova", mlp()).predict(points).label, label)


def test_a_network_in_half_precision_keeps_the_numbers_of_its_calibrator(network, tmp_path, blobs, mlp):
    classifier = Classifier.fit(network, blobs(1000, 1), calibration="exponential")
    exponents = classifier.scorer.calibrator.exponents
    half = Classifier(mlp(), classifier.scorer).bfloat16()
    assert np.array_equal(half.scorer.calibrator.exponents, exponents)
    half.save(tmp_path / "half.slova")
    again = Classifier.load(tmp_path / "half.slova", mlp().bfloat16())
    assert again.network[0].weight.dtype == torch.bfloat16
    points = blobs(20, 9)[0].bfloat16()
    assert torch.equal(again.predict(points).confidence, half.predict(points).confidence)
    assert again.predict(points).confidence.dtype == torch.float32


def test_a_file_for_another_network_is_refused_and_leaves_the_network_alone(classifier, tmp_path):
    classifier.save(tmp_path / "model.slova")
    other = nn.Sequential(nn.Linear(2, 4))
    before = other[0].weight.clone()
    with pytest.raises(ArtifactError, match="does not fit this network"):
        Classifier.load(tmp_path / "model.slova", other)
    assert torch.equal(other[0].weight, before)


def test_the_scorer_can_be_read_out_of_a_classifier_file(classifier, network, tmp_path, blobs):
    classifier.save(tmp_path / "model.slova")
    points = blobs(100, 10)[0]
    with torch.no_grad():
        logits = network(points)
    scorer = Scorer.load(tmp_path / "model.slova")
    assert np.allclose(scorer.predict(logits.numpy()).confidence, classifier.predict(points).confidence, atol=1e-6)


def test_state_dict_carries_the_calibrator(classifier, network, mlp):
    changed = replace(classifier.scorer.calibrator, positive_weights=np.array([0.5]), negative_weights=np.array([0.25]))
    other = Classifier(mlp(), replace(classifier.scorer, calibrator=changed))
    other.load_state_dict(classifier.state_dict())
    assert np.array_equal(other.scorer.calibrator.positive_weights, classifier.scorer.calibrator.positive_weights)
    assert np.array_equal(other.scorer.calibrator.negative_weights, classifier.scorer.calibrator.negative_weights)


@pytest.mark.parametrize("calibration", [None, "histogram", "temperature", BetaCalibration.fit])
def test_any_calibration_or_none_can_calibrate(network, calibration, tmp_path, blobs, mlp):
    classifier = Classifier.fit(network, blobs(1000, 1), calibration=calibration)
    points = blobs(100, 12)[0]
    classifier.save(tmp_path / "model.slova")
    again = Classifier.load(tmp_path / "model.slova", mlp())
    assert torch.equal(again.predict(points).confidence, classifier.predict(points).confidence)
