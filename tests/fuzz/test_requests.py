"""Requests of anything: the inputs of the model, or an error in the 400s with a sentence."""

import json

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

pytest.importorskip("fastapi")

from slova.scorer import Scorer
from slova.serve.limits import Limits, RequestError
from slova.serve.load import scorer_model
from slova.serve.requests import most_marks, parse_infer, parse_predict
from slova.serve.responses import infer_response, predict_response

MODEL, LIMITS = scorer_model(Scorer(classes=3), name="map"), Limits(rows=64)
MOST = most_marks(MODEL, LIMITS.rows)
TENSOR = {"name": "logits", "shape": [2, 3], "datatype": "FP32", "data": [1, 2, 3, 4.5, -5, 6], "parameters": {}}
BINARY = {"name": "logits", "shape": [1, 3], "datatype": "FP32", "parameters": {"binary_data_size": 12}}
PLAIN = {"inputs": [[1, 2, 3], [4.5, -5, 6]], "reject": 0.5}
INFER = {"id": "x", "inputs": [TENSOR], "outputs": [{"name": "label", "parameters": {"binary_data": True}}],
         "parameters": {"reject": 0.5}}  # fmt: skip
numbers = st.integers() | st.floats(allow_nan=False)
anything = st.recursive(
    st.none() | st.booleans() | numbers | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


def answered(body, parse, respond) -> bool:
    """Whether the request was answered. Every answer is JSON; every error has a status in the 400s and a sentence."""
    refused, answer = None, None
    try:
        answer = respond(parse(body))
    except RequestError as error:
        refused = error
    assert answer or (400 <= refused.status < 500 and 10 < len(refused.message) < 600)
    return refused is None


def plain(body) -> bool:
    def respond(parsed):
        answer = MODEL.apply_reject(run(parsed[0]), parsed[1])
        return json.loads(predict_response(answer, MODEL).body)

    return answered(body, lambda body: parse_predict(body, MODEL, LIMITS, MOST), respond)


def infer(body, head=None) -> bool:
    def respond(parsed):
        return infer_response(parsed, MODEL.apply_reject(run(parsed.inputs), parsed.reject), MODEL).body

    return answered(body, lambda body: parse_infer(body, MODEL, LIMITS, MOST, head=head), respond)


def run(inputs):
    assert inputs["logits"].dtype == np.float32
    assert inputs["logits"].shape[1] == 3
    with np.errstate(all="ignore"):
        return MODEL.run(inputs, [output.name for output in MODEL.outputs])


@pytest.mark.parametrize(("ask", "content"), [(plain, PLAIN), (infer, INFER)])
def test_mutated_requests_are_answered_or_errors(ask, content, cases, mutate):
    assert ask(json.dumps(content).encode())
    for chance in cases(0.1):
        changed = content
        for _ in range(chance.randint(1, 3)):
            changed = mutate.json(changed, chance) if changed else changed
        body = json.dumps(changed).encode()
        ask(mutate.bytes(body, chance) if chance.random() < 0.3 else body)


def test_mutated_binary_requests_are_answered_or_errors(cases, mutate):
    head = json.dumps({"inputs": [BINARY]}).encode()
    whole = head + np.float32([1, 2, 3]).tobytes()
    assert infer(whole, str(len(head)))
    for chance in cases(0.06):
        infer(mutate.bytes(whole, chance), chance.choice([str(len(head)), "", "-1", "9" * 30, str(len(head) + 1)]))


def test_any_json_is_answered_or_an_error(cases):
    count = len(list(cases(0.08)))

    @settings(max_examples=count, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(anything, st.sampled_from(["inputs", "reject", "parameters", "id", "outputs"]))
    def check(content, place):
        for body in (content, {**PLAIN, place: content}, {"inputs": content}):
            plain(json.dumps(body).encode())
        for body in ({**INFER, place: content}, {"inputs": [{**TENSOR, place: content}]}, {"inputs": [content]}):
            infer(json.dumps(body).encode())
        infer(json.dumps({"inputs": [{**TENSOR, "data": content}]}).encode())
        infer(json.dumps({"inputs": [{**TENSOR, "shape": content}]}).encode())

    check()
