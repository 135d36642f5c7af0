"""The Open Inference Protocol v2: NVIDIA's client works unchanged, and the answers are the library's."""

import json

import numpy as np
import pytest

from slova.scorer import Scorer
from slova.serve import Limits, Model, Tensor
from slova.serve.load import scorer_model

triton = pytest.importorskip("tritonclient.http", reason="tritonclient is not installed")
OUTPUTS = ("label", "confidence", "none", "ambiguous", "log_probs")
INFER = "/v2/models/map/infer"


@pytest.fixture
def theirs(client):
    with connected(client) as theirs:
        yield theirs


def connected(client):
    return triton.InferenceServerClient(f"127.0.0.1:{client.port}")


def tensor(values, name="logits", datatype="FP32", binary=True):
    made = triton.InferInput(name, list(values.shape), datatype)
    made.set_data_from_numpy(values, binary_data=binary)
    return made


def expected(scorer, logits, reject=0.0):
    return {**scorer.predict(logits, reject=reject).to_dict(), "log_probs": scorer(logits).log_probs}


def test_the_server_and_the_model_have_metadata(theirs, client):
    assert theirs.is_server_live()
    assert theirs.is_server_ready()
    assert theirs.is_model_ready("map")
    assert theirs.is_model_ready("map", "1")
    assert not theirs.is_model_ready("nothing")
    assert theirs.get_server_metadata()["extensions"] == ["binary_tensor_data"]
    content = theirs.get_model_metadata("map", "1")
    assert content["inputs"] == [{"name": "logits", "datatype": "FP32", "shape": [-1, 3]}]
    assert [output["name"] for output in content["outputs"]] == list(OUTPUTS)
    assert client.get("/v2/models/map/versions/2") == (
        404,
        {"error": "unknown version '2' of map; this server has '1'"},
    )


@pytest.mark.parametrize("binary_in", [True, False])
@pytest.mark.parametrize("binary_out", [True, False, None])
def test_answers_are_those_of_predict(theirs, scorer, logits, binary_in, binary_out):
    rows = logits[:40]
    asked = (
        None if binary_out is None else [triton.InferRequestedOutput(name, binary_data=binary_out) for name in OUTPUTS]
    )
    found = theirs.infer("map", [tensor(rows, binary=binary_in)], outputs=asked, request_id="seven")
    for name, values in expected(scorer, rows).items():
        answer = found.as_numpy(name)
        np.testing.assert_allclose(answer, values, rtol=1e-5, atol=1e-5)
        assert answer.dtype == (np.int64 if name == "label" else np.float32)
    content = found.get_response()
    assert (content["id"], content["model_name"], content["model_version"]) == ("seven", "map", "1")


def test_only_requested_outputs_are_returned_each_in_its_form(theirs, scorer, logits):
    asked = [triton.InferRequestedOutput("confidence", binary_data=False), triton.InferRequestedOutput("label")]
    found = theirs.infer("map", [tensor(logits[:5])], outputs=asked, model_version="1")
    content = found.get_response()["outputs"]
    assert [output["name"] for output in content] == ["confidence", "label"]
    assert "data" in content[0]
    assert content[1]["parameters"] == {"binary_data_size": 40}
    np.testing.assert_array_equal(found.as_numpy("label"), scorer.predict(logits[:5]).label)


def test_a_request_can_bring_its_own_threshold(theirs, scorer, logits):
    rows = logits[:50]
    for reject in (0.0, 0.6, 0.9, 1.0):
        found = theirs.infer("map", [tensor(rows)], parameters={"reject": reject})
        np.testing.assert_array_equal(found.as_numpy("label"), scorer.predict(rows, reject=reject).label)


@pytest.mark.parametrize(
    "datatype", ["FP16", "FP32", "FP64", "INT8", "INT16", "INT32", "INT64", "UINT8", "UINT64", "BOOL"]
)
@pytest.mark.parametrize("binary", [True, False])
def test_numbers_of_any_type_become_those_of_the_model(theirs, scorer, datatype, binary):
    if datatype == "FP16" and not binary:
        pytest.skip("the client sends FP16 as binary data only")
    rows = np.array([[0, 1, 1], [1, 0, 0]]).astype(triton_dtype(datatype))
    found = theirs.infer("map", [tensor(rows, datatype=datatype, binary=binary)])
    np.testing.assert_allclose(
        found.as_numpy("confidence"), scorer.predict(rows.astype(np.float32)).confidence, atol=1e-6
    )


def triton_dtype(datatype):
    from tritonclient.utils import triton_to_np_dtype

    return triton_to_np_dtype(datatype)


def test_bfloat16_is_the_upper_half_of_float32(client, scorer):
    rows = np.array([[3.0, -2.5, -4.0]], np.float32)
    halves = (rows.view(np.uint32) >> 16).astype("<u2").tobytes()
    status, content = infer(client, {"shape": [1, 3], "datatype": "BF16"}, halves)
    assert status == 200
    assert content["outputs"][1]["data"] == pytest.approx(scorer.predict(rows).confidence, abs=1e-6)


def infer(client, entry, data=b"", **more):
    """One input, binary where there are data."""
    entry = {"name": "logits", "shape": [1, 3], "datatype": "FP32"} | entry
    if data:
        entry.setdefault("parameters", {"binary_data_size": len(data)})
    head = json.dumps({"inputs": [entry], **more}).encode()
    headers = {"Inference-Header-Content-Length": str(len(head))} if data else {}
    return client.predict(head + data, headers, INFER)


def test_data_may_be_flat_or_nested(client):
    flat, nested = (
        infer(client, {"shape": [2, 3], "data": data}) for data in ([1, 2, 3, 4, 5, 6], [[1, 2, 3], [4, 5, 6]])
    )
    assert flat == nested
    assert flat[0] == 200
    assert "id" not in flat[1]


def test_json_has_no_infinity_and_the_least_number_stands_for_it(serving):
    with serving(scorer_model(Scorer(classes=3), name="map")) as client:
        rows = np.array([[200.0, -200.0, -200.0]], np.float32)
        status, content = infer(client, {}, rows.tobytes())
        assert status == 200
        assert content["outputs"][4]["data"][1] == pytest.approx(-3.4028235e38)
        assert np.exp(np.float32(content["outputs"][4]["data"][1])) == 0


@pytest.mark.parametrize(
    ("entry", "data", "sentence"),
    [
        ({"name": "x", "data": [1, 2, 3]}, b"", "the inputs are x; expected logits"),
        ({"name": 5, "data": [1, 2, 3]}, b"", "inputs.0.name: Input should be a valid string"),
        ({"shape": [1, 4], "data": [1, 2, 3, 4]}, b"", "the input logits has the shape [1, 4]; expected [-1, 3]"),
        ({"shape": [3], "data": [1, 2, 3]}, b"", "the input logits has the shape [3]; expected [-1, 3]"),
        ({"shape": "3", "data": [1, 2, 3]}, b"", "inputs.0.shape: Input should be a valid list"),
        ({"shape": [True, 3], "data": [1, 2, 3]}, b"", "inputs.0.shape.0: Input should be a valid integer"),
        ({"shape": [2, 3], "data": [1, 2, 3]}, b"", "the input logits has 3 numbers; its shape [2, 3] requires 6"),
        ({"shape": [10**12, 3], "data": [1]}, b"", "shape [1000000000000, 3] requires 3000000000000"),
        ({"shape": [10**12, 3]}, b"\0" * 12, "shape [1000000000000, 3] requires 3000000000000"),
        ({"shape": [10**400, 3], "data": [1]}, b"", "has the shape [1000"),
        ({"shape": [-1, 3], "data": [1, 2, 3]}, b"", "inputs.0.shape.0: Input should be greater than or equal to 0"),
        ({"shape": [0, 3], "data": []}, b"", "the request has 0 rows; expected 1 to 64"),
        ({"shape": [65, 3], "data": [0] * 195}, b"", "the request has 65 rows; expected 1 to 64"),
        ({"datatype": "BYTES", "data": ["a", "b", "c"]}, b"", "inputs.0.datatype: Input should be 'BOOL', "),
        ({"datatype": None, "data": [1, 2, 3]}, b"", "inputs.0.datatype: Input should be 'BOOL', "),
        ({"data": ["a", "b", "c"]}, b"", "the input logits must contain numbers only"),
        ({"data": [1, None, 3]}, b"", "the input logits must contain numbers only"),
        ({"data": [10**30, 2, 3]}, b"", "the input logits must contain numbers only"),
        ({"data": [[1, 2], [3]]}, b"", "the input logits has lists of different lengths"),
        ({"data": 3}, b"", "inputs.0.data: Input should be a valid list"),
        ({}, b"", "the input logits must be a list of numbers"),
        ({"data": [1e300, 2, 3]}, b"", "the input logits has a value out of the range of FP32 in row 0"),
        ({}, np.float32([1, np.nan, 2]).tobytes(), "the input logits has NaN in row 0"),
        ({}, b"\0" * 11, "has the binary_data_size 11; 11 bytes are available, in multiples of the size of FP32"),
        ({}, b"\0" * 8, "the input logits has 2 numbers; its shape [1, 3] requires 3"),
        ({"parameters": {"binary_data_size": -4}}, b"\0" * 12, "binary_data_size: Input should be greater than"),
        ({"parameters": {"binary_data_size": 13}}, b"\0" * 12, "has the binary_data_size 13; 12 bytes are available"),
        ({"parameters": {"binary_data_size": 1.5}}, b"\0" * 12, "binary_data_size: Input should be a valid integer"),
        ({"parameters": {"binary_data_size": 8}, "shape": [1, 2]}, b"\0" * 12, "has the shape [1, 2]"),
        ({"data": [1, 2, 3], "parameters": {}}, b"\0" * 4, "4 bytes remain after the inputs"),
        ({"parameters": {"shared_memory_region": "r"}}, b"", "shared_memory_region: Extra inputs are not permitted"),
        ({"parameters": 3, "data": [1, 2, 3]}, b"", "inputs.0.parameters: Input should be a valid dictionary"),
    ],
)  # fmt: skip
def test_invalid_inputs_are_rejected_with_the_reason(client, entry, data, sentence):
    status, content = infer(client, entry, data)
    assert status == 400
    assert sentence in content["error"]


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        ({"outputs": [{"name": "x"}]}, "the outputs are x; expected some of label, confidence, none"),
        ({"outputs": [{"name": "label"}, {"name": "label"}]}, "the outputs are label, label; expected some of label"),
        ({"outputs": [3]}, "outputs.0: Input should be a valid dictionary"),
        ({"outputs": {"name": "label"}}, "outputs: Input should be a valid list"),
        (
            {"outputs": [{"name": "label", "parameters": {"classification": 2}}]},
            "outputs.0.parameters.classification: Extra inputs are not permitted",
        ),
        ({"parameters": {"reject": 2}}, "parameters.reject: Input should be less than or equal to 1"),
        ({"parameters": {"reject": True}}, "parameters.reject: Input should be a valid number"),
        ({"parameters": []}, "parameters: Input should be a valid dictionary"),
        ({"id": 7}, "id: Input should be a valid string"),
        ({"inputs": []}, "the inputs are none; expected logits"),
        (
            {"inputs": [{"name": "logits", "shape": [1, 3], "datatype": "FP32", "data": [1, 2, 3]}] * 2},
            "the inputs are logits, logits; expected logits",
        ),
    ],
)
def test_invalid_outputs_and_parameters_are_rejected(client, more, sentence):
    status, content = infer(client, {"data": [1, 2, 3]}, **more)
    assert status == 400
    assert sentence in content["error"]


@pytest.mark.parametrize("length", ["-1", "x", "1e3", "99999999", "9" * 400, "", "1_0", "٣", "0"])
def test_a_wrong_length_of_the_json_is_rejected(client, length):
    body = b'{"inputs": [{"name": "logits", "shape": [1, 3], "datatype": "FP32", "data": [1, 2, 3]}]}'
    status, content = client.predict(body, {"Inference-Header-Content-Length": length.encode()}, INFER)
    assert status == 400
    assert "error" in content


def test_the_client_hears_what_was_wrong(theirs, logits):
    with pytest.raises(triton.InferenceServerException, match="unknown model 'nothing'; this server has 'map'"):
        theirs.infer("nothing", [tensor(logits[:2])])
    with pytest.raises(triton.InferenceServerException, match="compressed bodies are not supported"):
        theirs.infer("map", [tensor(logits[:2])], request_compression_algorithm="gzip")


def test_a_response_larger_than_the_limit_is_rejected_before_it_is_computed(serving):
    def run(inputs, wanted):
        pytest.fail("the model ran")

    model = Model(name="map", platform="", inputs=(Tensor("logits", "FP32", (-1, 3)),), classes=10_000, run=run)
    with serving(model, limits=Limits(body=100_000)) as client:
        status, content = infer(client, {"data": [1, 2, 3]}, outputs=[{"name": "log_probs"}])
        assert (status, content["error"][:47]) == (413, "the response would have 240000 bytes; the limit")
