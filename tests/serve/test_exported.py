"""Models from their files answer as they did before they were written: exported graphs, and saved classifiers."""

import json

import numpy as np
import pytest
import torch
from onnx import TensorProto

import slova
from slova.serve.load import load_model

NAMES = ["ash", "elm", "oak"]


def test_a_graph_answers_with_its_own_threshold_or_that_of_the_request(serving, graph, weights):
    features = np.random.default_rng(3).normal(size=(60, 4)).astype(np.float32)
    log_probs = features @ weights - np.log(np.exp(features @ weights).sum(1, keepdims=True))
    best, confidence = log_probs.argmax(1), np.exp(log_probs.max(1))
    entry = {"name": "features", "shape": [60, 4], "datatype": "FP32", "data": features.tolist()}
    with serving(load_model(graph(reject=0.6))) as client:
        for reject in (None, 0.0, 0.4, 0.6, 0.8):
            parameters = {} if reject is None else {"parameters": {"reject": reject}}
            status, content = client.predict({"inputs": [entry], **parameters}, path="/v2/models/model/infer")
            found = {output["name"]: output["data"] for output in content["outputs"]}
            assert status == 200
            assert found["label"] == np.where(confidence >= (0.6 if reject is None else reject), best, -1).tolist()
            np.testing.assert_allclose(found["confidence"], confidence, atol=1e-5)
            np.testing.assert_allclose(found["log_probs"], log_probs.ravel(), atol=1e-5)


def test_an_exported_classifier_answers_as_it_did_before(serving, tmp_path):
    torch.manual_seed(0)
    network = torch.nn.Linear(6, 3)
    with torch.no_grad():
        network.weight.mul_(10)
        network.bias.fill_(-3)
    images = torch.randn(500, 6)
    classifier = slova.Classifier.fit(network, (images, network(images).argmax(-1)), names=NAMES)
    classifier.export(tmp_path / "trees.onnx", reject=0.7)
    expected = classifier.predict(images[:100], reject=0.7)
    model = load_model(tmp_path / "trees.onnx")
    with serving(model) as client:
        status, found = client.predict({"inputs": images[:100].tolist()})
        assert status == 200
        assert [row["label"] for row in found] == [None if label is slova.NONE else label for label in expected.label]
        for name in ("confidence", "none", "ambiguous"):
            np.testing.assert_allclose([row[name] for row in found], getattr(expected, name), atol=1e-5)
        assert client.metrics()["slova_confidence_drift"] < client.metrics()["slova_confidence_drift_chance"]
    assert slova.NONE in list(expected.label)
    assert (model.names, model.reject) == (tuple(NAMES), 0.7)


@pytest.mark.parametrize("head", [slova.heads.SLOVA, slova.heads.OVA, slova.heads.SOFTMAX])
def test_a_scorer_answers_the_same_from_its_own_file_and_as_a_graph(serving, tmp_path, head, logits):
    scorer = slova.Scorer.fit(logits, logits.argmax(1), head=head)
    scorer.save(tmp_path / "map.slova")
    scorer.export(tmp_path / "map.onnx")
    expected = scorer.predict(logits, reject=0.8)
    for name in ("map.slova", "map.onnx"):
        with serving(load_model(tmp_path / name, reject=0.8)) as client:
            found = client.predict({"inputs": logits.tolist()})[1]
        assert [row["label"] for row in found] == [None if one < 0 else one for one in expected.label.tolist()]
        for part in ("confidence", "none", "ambiguous"):
            np.testing.assert_allclose([row[part] for row in found], getattr(expected, part), atol=1e-5)


def test_a_saved_classifier_serves_logits_with_its_names_and_threshold(serving, tmp_path):
    classifier = slova.Classifier(torch.nn.Linear(6, 3), slova.Scorer(classes=3), names=NAMES, reject=0.7)
    classifier.save(tmp_path / "trees.slova")
    with serving(load_model(tmp_path / "trees.slova")) as client:
        found = client.predict({"inputs": [[9.0, -9.0, -9.0], [0.0, 0.0, 0.0]]})[1]
    assert [row["label"] for row in found] == ["ash", None]


def test_names_stand_for_labels_and_a_lower_threshold_wakes_what_the_model_rejected(serving, graph, weights):
    features = np.random.default_rng(0).normal(size=(30, 4)).astype(np.float32)
    best = (features @ weights).argmax(1)
    with serving(load_model(graph(metadata={"names": json.dumps(NAMES)}, reject=0.99))) as client:
        rejected = client.predict({"inputs": features.tolist()})[1]
        assert sum(row["label"] is None for row in rejected) > 20
        found = client.predict({"inputs": features.tolist(), "reject": 0})[1]
    assert [row["label"] for row in found] == [NAMES[label] for label in best]
    assert [row["confidence"] for row in found] == [row["confidence"] for row in rejected]


@pytest.mark.parametrize("name", ["FP64", "INT32"])
def test_what_a_graph_takes_is_what_it_gets(serving, graph, name):
    kind = {"FP64": TensorProto.DOUBLE, "INT32": TensorProto.INT32}[name]
    with serving(load_model(graph(kind=kind))) as client:
        assert client.get("/predict")[1]["inputs"][0]["datatype"] == name
        assert client.predict({"inputs": [[1, 2, 3, 4]]})[0] == 200
