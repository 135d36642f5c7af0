"""Large, slow and many requests: others are answered meanwhile, and memory stays bounded."""

import http.client
import json
import select
import socket
import threading
import tracemalloc
from contextlib import closing

import numpy as np
import pytest
from uvicorn.protocols.http.h11_impl import H11Protocol

from slova.serve import Limits, Model, Tensor, requests, responses
from slova.serve.limits import RequestError
from slova.serve.load import scorer_model
from slova.serve.requests import Predict, most_marks, parse_infer, parse_json, parse_predict

GOOD = {"inputs": [[4.0, -4.0, -5.0]]}
MIB = 1 << 20
POST = b"POST /predict HTTP/1.1\r\nHost: x\r\n"
HEAD = POST + b"Content-Length: %d\r\n\r\n"


@pytest.mark.parametrize(("module", "name"), [(requests, "parse_json"), (responses, "to_json")])
def test_health_is_answered_while_a_large_body_is_parsed_and_a_large_response_is_made(
    scorer, serving, monkeypatch, module, name
):
    started, healthy, order = threading.Event(), threading.Event(), []
    convert = getattr(module, name)

    def waits_for_health(*details):
        started.set()
        assert healthy.wait(60)  # on the event loop, nobody would be answered until then
        return convert(*details)

    monkeypatch.setattr(module, name, waits_for_health)
    tensor = {"name": "logits", "shape": [4096, 3], "datatype": "FP32", "data": [-4.25] * 3 * 4096}
    with serving(scorer_model(scorer, name="map")) as client:
        ask = lambda: order.append(("large", client.predict({"inputs": [tensor]}, path="/v2/models/map/infer")[0]))
        thread = threading.Thread(target=ask)
        thread.start()
        assert started.wait(60)
        order.append(("health", client.get("/v2/health/live")[0]))
        healthy.set()
        thread.join(60)
    assert order == [("health", 200), ("large", 200)]


def test_health_is_answered_between_small_chunks(scorer, serving, monkeypatch):
    """What was received is handled before others are answered, so it is little."""
    sent, order, handle = threading.Event(), [], H11Protocol.data_received

    def recorded(self, data):
        order.append("health" if data.startswith(b"GET") else "chunks")
        assert sent.wait(60)
        handle(self, data)

    body = json.dumps({"inputs": [[4.0, -4.0, -5.0]] * 300}).encode()
    chunks = b"".join(b"1\r\n%c\r\n" % byte for byte in body) + b"0\r\n\r\n"
    with serving(scorer_model(scorer)) as client:
        expected = client.ask("POST", "/predict", body)[2]
        monkeypatch.setattr(H11Protocol, "data_received", recorded)
        with closing(socket.create_connection(("127.0.0.1", client.port), timeout=60)) as slow:
            slow.sendall(POST + b"Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks)
            with closing(socket.create_connection(("127.0.0.1", client.port), timeout=60)) as other:
                other.sendall(b"GET /v2/health/live HTTP/1.1\r\nHost: x\r\n\r\n")
                sent.set()
                assert other.recv(4096).startswith(b"HTTP/1.1 200")
            found = b"".join(iter(lambda: slow.recv(65536), b""))
    assert order.index("health") < len(order) / 2
    assert found.endswith(b"\r\n\r\n" + expected)  # the same, in order


@pytest.mark.parametrize("path", ["/predict", "/v2/models/map/infer"])
@pytest.mark.parametrize(
    "parts",
    [
        (b'{"inputs":[', b"[],", b"[]]}"),
        (b'{"inputs":[', b"{},", b"{}]}"),
        (b'{"inputs":[', b"1,", b"1]}"),
        (b'{"inputs":[', b'"",', b'""]}'),
        (b'{"inputs":[["' + b"a" * MIB + b'"', b",1.5", b"]]}"),
        (b"[" * 100, b"[],", b"[]" + b"]" * 100),
        (b'{"a', b'":1,"a', b'":1}'),
    ],
)
def test_a_large_body_of_anything_takes_little_memory(scorer, path, parts):
    """Counted per body: eight bodies of 15 MiB that are lists of empty lists took 3.1 GB."""
    first, repeated, last = parts
    body = first + repeated * (4 * MIB // len(repeated)) + last
    model = scorer_model(scorer, name="map")
    tracemalloc.start()
    with pytest.raises(RequestError) as failed:
        _parse(path, model, body)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert failed.value.status == 400
    assert peak < MIB


def _parse(path, model, body):
    limits = Limits()
    most = most_marks(model, limits.rows)
    parse = parse_predict if path == "/predict" else parse_infer
    return parse(body, model, limits, most)


def test_a_text_among_numbers_is_refused_before_numpy_makes_a_table_of_it(scorer):
    body = json.dumps({"inputs": [["a" * (MIB // 5), 1.5, 1.5], *[["a", 1.5, 1.5]] * 49]}).encode()
    model = scorer_model(scorer)
    tracemalloc.start()
    with pytest.raises(RequestError, match="must contain numbers only"):
        _parse("/predict", model, body)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 5 * len(body)  # numpy: 150 texts of the length of the longest, 4 bytes per character


def test_most_marks_of_every_shape_let_the_largest_request_through():
    for shape in [(-1, 3), (-1, 2, 3), (-1, -1), (-1, -1, 3), (-1, 1), (-1,)]:
        model = Model(name="m", platform="", inputs=(Tensor("x", "FP32", shape),), classes=2, run=lambda *_: {})
        rows = np.ones([7, *(5 if size == -1 else size for size in shape[1:])])
        found, _ = parse_json(json.dumps({"inputs": rows.tolist()}).encode(), most_marks(model, 7), Predict)
        assert found.inputs == rows.tolist()


def test_slow_senders_take_no_place(scorer, serving):
    with serving(scorer_model(scorer), limits=Limits(requests=2)) as client:
        slow = [socket.create_connection(("127.0.0.1", client.port)) for _ in range(20)]
        for connection in slow:
            connection.sendall(HEAD % 1000 + b"{")
        while client.metrics()["slova_body_bytes"] < len(slow):
            pass
        assert client.metrics()["slova_requests_in_flight"] == 0
        assert client.predict(GOOD)[0] == 200
        for connection in slow:
            connection.close()


def test_one_client_cannot_hold_all_the_bytes(scorer, serving):
    limits = Limits(body=20_000, held=50_000)
    with serving(scorer_model(scorer), limits=limits) as client:
        greedy = [socket.create_connection(("127.0.0.1", client.port), timeout=30) for _ in range(3)]
        for connection in greedy:
            connection.sendall(HEAD % 19_000 + b" " * 15_000)
        while client.metrics()["slova_body_bytes"] < 45_000:
            pass
        body = json.dumps(GOOD | {"inputs": GOOD["inputs"] * 400}).encode()
        assert ask_from("127.0.0.2", client.port, body) == 200  # in place of the newest of the other client
        answered, _, _ = select.select(greedy, [], [], 30)
        assert len(answered) == 1  # the others are still being received
        assert answered[0].recv(4096).startswith(b"HTTP/1.1 503")
        for connection in greedy:
            connection.close()


def test_large_unfinished_bodies_leave_bytes_to_small_ones_of_the_same_client(scorer, serving):
    """Behind a proxy all clients have one address."""
    with serving(scorer_model(scorer), limits=Limits(body=200_000, held=800_000)) as client:
        greedy = [socket.create_connection(("127.0.0.1", client.port), timeout=30) for _ in range(5)]
        for connection in greedy:
            connection.sendall(HEAD % 200_000 + b" " * 199_999)
        answered = []
        while len(answered) < 2:  # those that found three quarters of the bytes taken
            answered, _, _ = select.select(greedy, [], [], 30)
        assert {connection.recv(12) for connection in answered} == {b"HTTP/1.1 503"}
        assert client.metrics()["slova_body_bytes"] == 3 * 199_999
        assert client.predict(GOOD)[0] == 200
        for connection in greedy:
            connection.close()


def ask_from(host, port, body):
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=30, source_address=(host, 0))) as connection:
        connection.request("POST", "/predict", body)
        return connection.getresponse().status


def test_one_client_cannot_take_all_the_places(serving):
    gate, found = threading.Event(), []

    def run(inputs, wanted):
        gate.wait(60)
        return {name: np.ones(len(inputs["logits"]), np.float32 if name != "label" else int) for name in wanted}

    model = Model(name="m", platform="", inputs=(Tensor("logits", "FP32", (-1, 3)),), classes=3, run=run)
    with serving(model, limits=Limits(requests=4)) as client:
        ask = lambda host: found.append((host, ask_from(host, client.port, json.dumps(GOOD))))
        threads = [threading.Thread(target=ask, args=("127.0.0.1",)) for _ in range(4)]
        for thread in threads:
            thread.start()
        while client.metrics()["slova_requests_in_flight"] < 4:
            pass
        threads += [threading.Thread(target=ask, args=("127.0.0.2",)) for _ in range(2)]
        for thread in threads[4:]:
            thread.start()
        while len(found) < 2:
            pass
        assert found == [("127.0.0.1", 503)] * 2  # ended in favour of the other, which now has its half
        assert ask_from("127.0.0.2", client.port, json.dumps(GOOD)) == 503
        gate.set()
        for thread in threads:
            thread.join()
    assert sorted(found) == [("127.0.0.1", 200)] * 2 + [("127.0.0.1", 503)] * 2 + [("127.0.0.2", 200)] * 2


def test_one_client_cannot_take_all_the_connections(scorer, serving):
    with serving(scorer_model(scorer), limits=Limits(connections=5)) as client:
        greedy = [socket.create_connection(("127.0.0.1", client.port)) for _ in range(5)]
        assert ask_from("127.0.0.2", client.port, json.dumps(GOOD)) == 200
        for connection in greedy:
            connection.close()


def test_a_redirect_does_not_follow_a_forged_host(scorer, serving):
    with serving(scorer_model(scorer)) as client:
        status, headers, _ = client.ask("GET", "/predict/", None, {"Host": "evil.example"})
    assert status == 404
    assert "location" not in headers


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (
            {"parameters": {"rejct": 0.5}},
            "parameters.rejct: Extra inputs are not permitted",
        ),
        ({"paramters": {"reject": 0.5}}, "paramters: Extra inputs are not permitted"),
        (
            {"outputs": [{"name": "label", "parameters": {"binary": True}}]},
            "outputs.0.parameters.binary: Extra inputs are not permitted",
        ),
    ],
)
def test_a_misspelt_name_of_the_protocol_is_an_error(client, content, sentence):
    tensor = {"name": "logits", "shape": [1, 3], "datatype": "FP32", "data": [1, 2, 3]}
    status, answer = client.predict({"inputs": [tensor]} | content, path="/v2/models/map/infer")
    assert status == 400
    assert sentence in answer["error"]


def test_extreme_inputs_leave_no_warnings_in_the_log(serving):
    """Warnings are errors in tests, and an error of the model is a 500."""

    def run(inputs, wanted):
        odds = np.exp(inputs["logits"].sum(axis=1)) / np.zeros(1, np.float32)
        return {name: odds if name != "label" else np.zeros(len(odds), int) for name in wanted}

    model = Model(name="m", platform="", inputs=(Tensor("logits", "FP32", (-1, 3)),), classes=3, run=run)
    with serving(model) as client:
        assert client.predict({"inputs": [[3e38, 3e38, 3e38]]})[0] == 200
