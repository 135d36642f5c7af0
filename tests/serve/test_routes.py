"""The plain route and the description of the server."""

import numpy as np
import pytest

from slova.heads import PROBABILITIES
from slova.scorer import Scorer
from slova.serve import Model, Tensor
from slova.serve.load import scorer_model


def test_answers_are_those_of_predict(client, scorer, logits):
    status, found = client.predict({"inputs": logits[:60].tolist(), "reject": 0.7})
    assert status == 200
    expected = scorer.predict(logits[:60], reject=0.7)
    assert [row["label"] for row in found] == [None if label < 0 else label for label in expected.label.tolist()]
    for name in ("confidence", "none", "ambiguous"):
        np.testing.assert_allclose([row[name] for row in found], getattr(expected, name), atol=1e-5)


def test_the_input_may_be_named(client):
    row = [[1.0, 2.0, 3.0]]
    assert client.predict({"inputs": {"logits": row}}) == client.predict({"inputs": row})


@pytest.mark.parametrize("path", ["/predict", "/metrics", "/v2/health/ready", "/"])
def test_head_is_get_without_a_body(client, path):
    status, headers, content = client.ask("HEAD", path)
    assert (status, content) == (200, b"")
    assert headers["content-type"] == client.ask("GET", path)[1]["content-type"]


def test_probabilities_for_a_model_of_logits_are_an_error_of_the_request(client):
    status, content = client.predict({"inputs": [[0.2, 0.3, 0.5], [0.0, 0.0, 1.0]]})
    assert status == 400
    assert "the model was fitted to logits, got rows of probabilities" in content["error"]


def test_one_late_row_that_is_no_row_of_probabilities_is_an_error_of_the_request(serving):
    with serving(scorer_model(Scorer(classes=3, head=PROBABILITIES))) as client:
        status, content = client.predict({"inputs": [[0.2, 0.3, 0.5]] * 2000 + [[-0.5, 0.7, 0.8]]})
    assert status == 400
    assert "the model was fitted to probabilities, got values from -0.5 to 0.8" in content["error"]


def test_an_unknown_field_is_rejected(client):
    status, content = client.predict({"inputs": [[1.0, 2.0, 3.0]], "rejekt": 0.5, "x": 1})
    assert (status, content) == (400, {"error": "rejekt: Extra inputs are not permitted"})


def test_a_model_of_several_inputs_takes_an_object(serving):
    def run(inputs, wanted):
        total = inputs["a"].sum(axis=(1, 2)) + inputs["b"]
        answers = {"label": inputs["b"], "log_probs": np.zeros((len(total), 2), np.float32)}
        return {name: answers.get(name, total.astype(np.float32)) for name in wanted}

    inputs = (Tensor("a", "FP16", (-1, 2, -1)), Tensor("b", "INT8", (-1,)))
    with serving(Model(name="two", platform="test", inputs=inputs, classes=2, run=run)) as client:
        good = {"a": [[[0.25, 0.25], [0.25, 0]], [[0, 0], [0, 0]]], "b": [0, 1]}
        assert [row["confidence"] for row in client.predict({"inputs": good})[1]] == [0.75, 1.0]
        for change, sentence in (
            ({"b": [0, 1, 2]}, "the inputs have different numbers of rows: {'a': 2, 'b': 3}"),
            ({"b": [0, 300]}, "the input b has a value out of the range of INT8 in row 1"),
            ({"b": [0, 1.5]}, "the input b has the type float64; the model expects INT8"),
            ({"b": [[0], [1]]}, "the input b has the shape [2, 1]; expected [-1], where -1 is any size"),
            ({"a": [[[1e6], [0]]], "b": [1]}, "the input a has a value out of the range of FP16 in row 0"),
            ({"c": [1]}, "the inputs are a, b, c; expected a, b"),
        ):
            status, content = client.predict({"inputs": good | change})
            assert (status, content["error"]) == (400, sentence)
        assert client.predict({"inputs": [1, 2]})[0] == 400


def test_an_error_of_the_model_is_a_500_without_its_inside_and_the_next_request_is_answered(serving, caplog):
    def run(inputs, wanted):
        if inputs["logits"][0, 0] == 13:
            raise RuntimeError("a path of ours: /secret")
        rows = len(inputs["logits"])
        return {name: np.zeros((rows, 3) if name == "log_probs" else rows) for name in wanted}

    model = Model(name="m", platform="test", inputs=(Tensor("logits", "FP32", (-1, 3)),), classes=3, run=run)
    with serving(model) as client:
        wrong = {"error": "internal server error; the log of the server has the details"}
        assert client.predict({"inputs": [[13, 0, 0]]}) == (500, wrong)
        assert client.predict({"inputs": [[1, 0, 0]]})[0] == 200
    assert "/secret" in caplog.text


def test_the_description_names_every_route_and_needs_nothing_from_elsewhere(client):
    status, content = client.get("/openapi.json")
    assert status == 200
    assert {"/predict", "/metrics", "/v2", "/v2/health/live", "/v2/models/{name}/infer"} <= content["paths"].keys()
    example = content["paths"]["/predict"]["post"]["requestBody"]["content"]["application/json"]["example"]
    assert client.predict(example)[0] == 200
    example = content["paths"]["/v2/models/{name}/infer"]["post"]["requestBody"]["content"]["application/json"][
        "example"
    ]
    assert client.predict(example, path="/v2/models/map/infer")[0] == 200
    for page in ("/", "/docs", "/pages/try.js", "/pages/docs.js", "/pages/page.css"):
        status, headers, content = client.ask("GET", page)
        assert status == 200
        assert b"//" not in content.replace(b"\n// ", b"\n").removeprefix(b"// ")
        assert headers["content-security-policy"].startswith("default-src 'none'")


def test_the_threshold_of_the_server_is_that_of_requests_that_name_none(serving, scorer, logits):
    with serving(scorer_model(scorer, reject=0.8)) as client:
        found = [row["label"] for row in client.predict({"inputs": logits[:50].tolist()})[1]]
    expected = scorer.predict(logits[:50], reject=0.8).label.tolist()
    assert found == [None if label < 0 else label for label in expected]
