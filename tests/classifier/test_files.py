"""Files and state dicts of classifiers."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

from slova import NONE, BetaCalibration, Classifier, Scorer, artifact
from slova.artifact import ArtifactError
from slova.vision.features import FeatureStatistics
from slova.vision.passes import Passes, distances_from


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


SHAPE = [0, 2]


@pytest.mark.parametrize(
    "example",
    ["", {}, [], 5, [5], [[None, "nn", SHAPE]], [[None, ["float32"], SHAPE]], [[None, "float32", 5]],
     [[None, "float32", [0, -5]]], [[[1], "float32", SHAPE]], [[{"a": 1}, "float32", SHAPE]],
     [[5, "float32", SHAPE]], [["\x1b" * 999, "float33", SHAPE]]],
)  # fmt: skip
def test_inputs_that_cannot_be_read_are_refused(classifier, tmp_path, mlp, example):
    classifier.save(tmp_path / "model.slova")
    tensors, meta = artifact.load(tmp_path / "model.slova", "classifier", framework="torch")
    artifact.save(tmp_path / "odd.slova", "classifier", tensors, meta | {"example": example})
    message = r"odd\.slova is damaged: the inputs of its network are unreadable \([ -~]{1,200}\)$"
    with pytest.raises(ArtifactError, match=message):
        Classifier.load(tmp_path / "odd.slova", mlp())


@pytest.fixture(scope="module")
def saved_distances(network, blobs, tmp_path_factory):
    """Path, arrays and JSON of a classifier that measures distances in one layer of 32 channels."""
    points, labels = blobs(300, 1)
    with torch.no_grad():
        logits, channels = network(points), network[:2](points)
    passes = Passes({"1": FeatureStatistics.of(channels.numpy())})
    distances = distances_from(passes, passes.layers, {"1": channels})
    scorer = Scorer.fit(logits.numpy(), labels.numpy(), head="slova", distances=distances.numpy())
    path = tmp_path_factory.mktemp("files") / "distances.slova"
    Classifier(network, scorer, passes=passes).save(path)
    return path, *artifact.load(path, "classifier", framework="torch")


def test_statistics_come_back(saved_distances, mlp, blobs):
    path, tensors, _ = saved_distances
    again = Classifier.load(path, mlp())
    assert torch.equal(again.passes.whiten0, tensors["passes.whiten0"])
    assert torch.isfinite(again.predict(blobs(20, 2)[0]).confidence).all()


@pytest.mark.parametrize(
    ("passes", "message"),
    [
        (None, "its scorer takes 1 distances, and it measures 0"),
        ({"layers": [], "views": None}, "its scorer takes 1 distances, and it measures 0"),
        *(
            ({"layers": layers, "views": None}, "its layers must be a list of different names, got ")
            for layers in ("", {}, 5, [5], ["1", "1"], [["1"]])
        ),
        ([], "its layers must be a list of different names, got None"),
        ({"layers": ["1"]}, "views must be None, 'flip' or 'turns'"),
        ({"layers": ["1"], "views": ["flip"]}, "unhashable type"),
        ({"layers": ["1", "0"], "views": None}, "passes.mean1 is missing"),
        *(({"layers": ["1"], "views": None, "members": count}, "1 layers cannot be those of") for count in (0, 2, -1)),
        *(({"layers": ["1"], "views": None, "members": odd}, "members must be a whole") for odd in (1.0, True, "1")),
        *(
            ({"layers": ["1"], "views": None, "value_range": odd}, "value_range must be two floats, got ")
            for odd in (0.0, "01", {}, [], [0.0], [0, 1], [True, 1.0], [0.0, None], [0.0, "1"], [[0.0], [1.0]])
        ),
        ({"layers": ["1"], "views": None, "value_range": [1.0, 0.0]}, "value_range must be finite and in order"),
    ],
)
def test_layers_that_do_not_fit_the_scorer_are_refused(saved_distances, tmp_path, mlp, passes, message):
    _, tensors, meta = saved_distances
    artifact.save(tmp_path / "odd.slova", "classifier", tensors, meta | {"passes": passes})
    with pytest.raises(ArtifactError, match=f"odd.slova is damaged: {message}"):
        Classifier.load(tmp_path / "odd.slova", mlp())


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("mean0", lambda mean: mean[:, None], r"must have shapes \(C,\) and \(C, C\), got \(32, 1\) and \(32, 32\)"),
        ("mean0", lambda mean: mean[:5], "must have shapes"),
        ("mean0", lambda mean: mean[0], "must have shapes"),
        ("whiten0", lambda whiten: whiten.flatten(), "must have shapes"),
        ("whiten0", lambda whiten: whiten[None], "must have shapes"),
        ("whiten0", lambda whiten: whiten[..., None], "must have shapes"),
        ("mean0", lambda mean: torch.full_like(mean, -1e38), "must be finite"),
        *((name, lambda part, value=value: torch.full_like(part, value), "must be finite")
          for name in ("mean0", "whiten0") for value in (torch.nan, torch.inf)),
    ],
)  # fmt: skip
def test_statistics_that_give_no_distances_are_refused(saved_distances, tmp_path, mlp, name, change, message):
    _, tensors, meta = saved_distances
    wrong = {f"passes.{name}": change(tensors[f"passes.{name}"])}
    artifact.save(tmp_path / "odd.slova", "classifier", tensors | wrong, meta)
    network = mlp()
    before = network[0].weight.clone()
    with pytest.raises(ArtifactError, match=rf"odd\.slova is damaged: passes\.mean0 and passes\.whiten0 {message}"):
        Classifier.load(tmp_path / "odd.slova", network)
    assert torch.equal(network[0].weight, before)


@pytest.mark.parametrize("text", ["NaN, 1.0", "0.0, NaN", "-Infinity, 1.0", "0.0, 1e999"])
def test_a_range_that_is_not_finite_is_refused(saved_distances, mlp, monkeypatch, text):
    """JSON has no such numbers, but the JSON of Python reads them."""
    path, tensors, meta = saved_distances
    odd = meta | {"passes": meta["passes"] | {"value_range": json.loads(f"[{text}]")}}
    monkeypatch.setattr(artifact, "load", lambda *_, **__: (tensors, odd))
    with pytest.raises(ArtifactError, match="is damaged: value_range must be finite and in order, got"):
        Classifier.load(path, mlp())


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
